#include "model/metrics/distance.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain::metrics {

void check_distance(std::string_view metric, const Loss& loss) {
  if (targets_of(loss) != Targets::kClassNumbers) return;
  throw Error(fmt::format("{} needs labels like the output, but the loss takes class numbers; take accuracy", metric));
}

}  // namespace mirrortrain::metrics
