#include "model/losses/targets.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain {
namespace {

/// [8, 1] and [8] hold the same labels, as do [1] and [].
Shape without_last_one(const Shape& shape) {
  if (shape.rank() == 0 || shape.back() != 1) return shape;
  return Shape({shape.begin(), shape.end() - 1});
}

bool hold_the_same(const Shape& a, const Shape& b) { return without_last_one(a) == without_last_one(b); }

/// What to do about labels in the other form than the loss wants, or "".
std::string remedy(Targets targets, const Shape& output, const Shape& labels) {
  if (targets == Targets::kClassNumbers && hold_the_same(labels, output)) {
    return "; for one-hot labels take categorical_crossentropy";
  }
  if (targets != Targets::kClassNumbers && output.back() > 1 &&
      hold_the_same(labels, targets_spec(Targets::kClassNumbers, output).shape)) {
    return fmt::format(
        "; for class numbers take sparse_categorical_crossentropy, or one_hot: {{depth: {}}} in "
        "data.preprocessing",
        output.back());
  }
  return "";
}

}  // namespace

ValueSpec targets_spec(Targets targets, const Shape& output) {
  if (output.rank() == 0) throw Error("expected an output with at least one axis, found the output shape []");
  if (targets != Targets::kClassNumbers) return {DType::kFloat32, output, true};
  return {DType::kInt32, Shape({output.begin(), output.end() - 1}), true};
}

std::optional<std::int64_t> largest_label(Targets targets, const Shape& output) {
  switch (targets) {
    case Targets::kNumbers: return std::nullopt;
    case Targets::kProbabilities: return 1;
    case Targets::kClassNumbers: break;
  }
  return output.back() - 1;
}

void check_targets(Targets targets, const Shape& output, const LabelInfo& labels) {
  const Shape wanted = targets_spec(targets, output).shape;
  if (!hold_the_same(labels.shape, wanted)) {
    throw Error(fmt::format("expected labels of shape {} for the output shape {}, found labels of shape {}{}",
                            wanted.text(), output.text(), labels.shape.text(), remedy(targets, output, labels.shape)));
  }
  if (targets == Targets::kClassNumbers && !labels.whole_numbers) {
    throw Error("expected class numbers as labels, found numbers that are not whole");
  }
  const auto largest = largest_label(targets, output);
  if (largest && labels.classes && *labels.classes - 1 > *largest) {
    throw Error(fmt::format("expected labels from 0 to {} for the output shape {}, found labels from 0 to {}", *largest,
                            output.text(), *labels.classes - 1));
  }
}

}  // namespace mirrortrain
