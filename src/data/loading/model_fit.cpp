#include "data/loading/model_fit.h"

#include <fmt/format.h>

namespace mirrortrain::data {
namespace {

/// [height, width, channels] as [channels, height, width]; other shapes as [0], which matches no data.
Shape channels_first(const Shape& shape) {
  if (shape.rank() != 3) return Shape({0});
  return Shape({shape[2], shape[0], shape[1]});
}

Shape with_depth(const Shape& label, std::int64_t depth) {
  std::vector<std::int64_t> dims = label.dims();
  dims.push_back(depth);
  return Shape(std::move(dims));
}

/// "are features and labels swapped?", in the words of what the data have.
std::string swapped(const InputSpec& input) {
  return fmt::format("are {} and labels swapped?", input.has_name() ? "inputs" : "features");
}

/// What to write of pictures of another size or color than the model's; "" of other shapes. `key`: of its shape.
std::string pictures_remedy(const Shape& example, const InputSpec& spec, const std::string& key, bool are_decoded) {
  constexpr std::int64_t kMostChannels = 4;
  if (example.rank() != 3 || spec.shape.rank() != 3 || example[2] > kMostChannels) return "";
  const std::int64_t height = spec.shape[0], width = spec.shape[1], channels = spec.shape[2];
  const bool have_its_size = example[0] == height && example[1] == width, have_its_color = example[2] == channels;
  if (are_decoded && (channels == 1 || channels == 3)) {
    return fmt::format("write {}{}{}, or {}: {} if all pictures are of that size",
                       have_its_size ? "" : fmt::format("image_size: [{}, {}]", height, width),
                       have_its_size || have_its_color ? "" : ", ",
                       have_its_color  ? ""
                       : channels == 1 ? "color: gray"
                                       : "color: rgb",
                       key, example.text());
  }
  if (are_decoded || !have_its_color) return "";
  return fmt::format("write {}: {}, or add resizing: {{height: {}, width: {}{}}} to data.preprocessing", key,
                     example.text(), height, width, spec.has_name() ? ", input: " + spec.name : "");
}

std::string class_numbers_remedy(const LabelSpec& spec) {
  return fmt::format(
      "for class numbers take sparse_categorical_crossentropy, or add one_hot: {{depth: {}}} to data.preprocessing",
      spec.shape.rank() == 0 ? 1 : spec.shape.back());
}

std::string labels_remedy(const Shape& label, const LabelSpec& spec, const std::vector<InputSpec>& inputs) {
  const InputSpec* const sequence = inputs.size() == 1 ? &inputs.front() : nullptr;
  const bool is_of_steps = sequence != nullptr && sequence->numbers_below > 0 && label == sequence->shape;
  if (is_of_steps && label.rank() == 1 && spec.shape.rank() == 0) {
    return "the labels are one for each place of the sequence, but the model has one prediction for all of it: set "
           "return_sequences: true in every lstm and gru, and leave out flatten and pooling layers";
  }
  if (spec.classes > 0 && label == with_depth(spec.shape, spec.classes)) {
    return "the labels are one-hot, and the loss takes class numbers: take categorical_crossentropy, or write their "
           "argmax to the file";
  }
  if (spec.probabilities && spec.shape.rank() > 1 && spec.shape.back() > 1 &&
      same_but_ones(label, Shape({spec.shape.begin(), spec.shape.end() - 1}))) {
    return "the labels are one for each place: " + class_numbers_remedy(spec);
  }
  if (spec.shape.rank() > label.rank() && spec.shape.elements() > 1 && (spec.classes > 0 || spec.shape.rank() > 1)) {
    const bool of_pictures = spec.shape.rank() >= (spec.classes > 0 ? 2 : 3);
    return fmt::format("the output has one prediction for each place: add a {} layer before the last dense layer{}",
                       of_pictures ? "flatten or global_average_pooling2d" : "global_average_pooling1d",
                       of_pictures ? "" : "; after lstm or gru, return_sequences: false does it too");
  }
  if (label.rank() >= 2 && spec.shape.rank() <= 1) {
    return "labels of such a shape look like images: " + swapped(inputs.front());
  }
  if (label.elements() == 1 && spec.classes == 0) {
    return class_numbers_remedy(spec);
  }
  return "change the last layer, the loss or the labels";
}

}  // namespace

std::string features_mismatch(const Shape& example, const InputSpec& spec, bool are_decoded) {
  if (same_but_ones(example, spec.shape)) return "";
  const std::string key = spec.path.substr(spec.path.rfind('.') + 1);
  const std::string found =
      fmt::format("one example has the shape {}, but {} is {}; ", example.text(), spec.path, spec.shape.text());
  if (spec.trained) {
    return fmt::format(
        "one example has the shape {}, but the model was trained on examples of {}; give data of that "
        "shape",
        example.text(), spec.shape.text());
  }
  if (example.rank() == 0 && spec.shape.elements() > 1) {
    return found + (spec.shape.rank() >= 2
                        ? "these look like labels: " + swapped(spec)
                        : fmt::format("{} if each example is one number, write {}: [1]", swapped(spec), key));
  }
  if (example == channels_first(spec.shape)) {
    return found + "the data have their channels first: store them as [examples, height, width, channels]";
  }
  if (spec.shape == channels_first(example)) {
    return found + fmt::format("channels go last: write {}: {}", key, example.text());
  }
  if (example.rank() == 2 && spec.shape.rank() == 3) {
    return found + fmt::format("these are pictures of one channel: write {}: [{}, {}, 1]", key, example[0], example[1]);
  }
  if (const std::string remedy = pictures_remedy(example, spec, key, are_decoded); !remedy.empty()) {
    return found + remedy;
  }
  return found + fmt::format("write {}: {}, and let a flatten or reshape layer follow where another shape is wanted",
                             key, example.text());
}

std::string labels_mismatch(const Shape& label, std::size_t output, const Wanted& wanted) {
  const LabelSpec& spec = wanted.spec->labels[output];
  const std::int64_t depth = wanted.one_hot_depth(output);
  if (depth > 0 && spec.classes > 0) {
    return "one_hot makes vectors of the labels, but the loss takes class numbers; remove one_hot or take "
           "categorical_crossentropy";
  }
  const Shape shape = depth > 0 ? with_depth(label, depth) : label;
  if (same_but_ones(shape, spec.shape)) return "";
  const std::string found = depth > 0 ? fmt::format("{} after one_hot", shape.text()) : shape.text();
  const std::string whose = wanted.spec->labels.size() > 1 ? fmt::format("the output '{}' and its loss", spec.name)
                                                           : "the model's output and loss";
  return fmt::format("one label has the shape {}, but {} take {}; {}", found, whose, spec.shape.text(),
                     labels_remedy(shape, spec, wanted.spec->inputs));
}

}  // namespace mirrortrain::data
