#include "model/losses/targets.h"

#include "base/error.h"

namespace mirrortrain {

ValueSpec targets_spec(Targets targets, const Shape& output, std::int64_t length) {
  if (output.rank() == 0)
    throw Error(
        "expected an output with at least one axis, found the output shape []; make it [1], as "
        "with reshape: {target_shape: [1]}");
  if (targets == Targets::kGroups) return {DType::kInt32, {}, true};
  if (targets == Targets::kSymbols) return {DType::kInt32, {length}, true};
  if (targets != Targets::kClassNumbers) return {DType::kFloat32, output, true};
  return {DType::kInt32, Shape({output.begin(), output.end() - 1}), true};
}

std::optional<std::int64_t> largest_label(Targets targets, const Shape& output) {
  switch (targets) {
    case Targets::kNumbers: return std::nullopt;
    case Targets::kProbabilities:
    case Targets::kSigns: return 1;
    case Targets::kGroups: return (std::int64_t{1} << 24) - 1;  // float32 represents them
    case Targets::kClassNumbers:
    case Targets::kSymbols: break;
  }
  return output.back() - 1;
}

}  // namespace mirrortrain
