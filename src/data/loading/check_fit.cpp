#include <optional>
#include <set>
#include <type_traits>
#include <variant>

#include "data/loading/model_fit.h"
#include "data/loading/name_check.h"
#include "data/loading/step_check.h"
#include "data/loading/written_data_check.h"

namespace mirrortrain::data {

void check_fit(const DataOptions& options, const ExampleSpec& spec, const PlaceOf& place_of, config::Errors& errors) {
  NameCheck names(options, spec, place_of, errors);
  const KnownSteps known = names.known_steps(options.preprocessing);
  WrittenDataCheck data(known, check_steps(known, spec, place_of, errors), spec, errors);
  const auto check = [&](const auto& source, const config::Place& place, const std::string& path) {
    std::visit(
        [&](const auto& held) {
          using Format = std::decay_t<decltype(held)>;
          if constexpr (!std::is_same_v<Format, ValidationFraction>) {
            const bool fits = names.fits(held, place, path) && known.are_all;
            if constexpr (requires { data.check(held); }) {
              if (fits) data.check(held);
            }
          }
        },
        source);
  };
  check(options.train.value, options.train.place, options.train.path);
  if (options.validation.value) check(*options.validation.value, options.validation.place, options.validation.path);
  if (options.test.value) check(*options.test.value, options.test.place, options.test.path);
}

}  // namespace mirrortrain::data
