#include "data/loading/terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/usable_cores.h"

namespace mirrortrain::data {

Terms::Terms(const DataOptions& options, const ExampleSpec* of_model)
    : spec(of_model != nullptr ? std::optional(spec_before_bins(*of_model, options.preprocessing)) : std::nullopt),
      wanted(wanted_by(spec ? &*spec : nullptr, options.preprocessing)),
      on_bad(options.on_bad_example),
      holding(options) {
  threads = static_cast<int>(options.threads.value_or(std::ssize(usable_cores())));
}

std::size_t Terms::output_of(const Labels& labels) const {
  if (wanted.spec == nullptr || labels.name.empty()) return 0;
  const auto found = std::ranges::find(wanted.spec->labels, labels.name, &LabelSpec::name);
  if (found != wanted.spec->labels.end()) return static_cast<std::size_t>(found - wanted.spec->labels.begin());
  throw Error(fmt::format("the model has no output '{}'", labels.name));
}

}  // namespace mirrortrain::data
