// What a feeder does where examples are mixed with others of their batch.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "data/feeding/feeder.h"
#include "data/key_error.h"

namespace mirrortrain::data {
namespace {

[[noreturn]] void refuse_mixing(const PreprocessingStep& step, const std::string& message) {
  const StepPlace at = located(step);
  throw KeyError(at.place, at.path.empty() ? "data.preprocessing" : at.path,
                 fmt::format("{} {}", config::visit([](const auto& held) { return held.kName; }, step), message));
}

/// [height, width] or [height, width, channels]; without elements for another shape.
Extents picture_extents(const Shape& shape) {
  if (shape.rank() < 2 || shape.elements() == 0) return {};
  return {shape[0], shape[1], shape.elements() / (shape[0] * shape[1])};
}

std::byte* bytes_at(std::span<float> numbers, std::size_t at) {
  return reinterpret_cast<std::byte*>(numbers.data() + at);
}

}  // namespace

void Feeder::mix(const std::vector<PreprocessingStep>& preprocessing, const ExampleSpec& spec,
                 const FeederOptions& options) {
  std::size_t elements = ahead_elements_;
  for (Input& input : inputs_) {
    if (!input.maker || input.is_ahead) continue;
    input.made_at = elements;
    elements += static_cast<std::size_t>(input.maker->features().row_elements());
  }
  for (Output& output : outputs_) {
    output.mixed_at = elements;
    elements += static_cast<std::size_t>(output.mixed.row_elements()) + (output.weights.empty() ? 0 : 1) +
                (output.present.empty() ? 0 : 1);
  }
  std::vector<MixingStep> mixing;
  for (const PreprocessingStep& step : mixing_steps(preprocessing)) {
    std::vector<MixedNumbers> numbers;
    const bool cuts = config::holds_alternative<CutMix>(step);
    Extents picture;  // of the first input
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!as_mixing(step)->mixes(spec.inputs[i].name)) continue;
      const Shape shape = inputs_[i].maker->features().row_shape();
      if (dataset_.features(i).tokens > 0) {
        refuse_mixing(
            step, fmt::format("mixes numbers, and {} has tokens of texts; leave it out", dataset_.features(i).origin));
      }
      const Extents own = shape.rank() <= 3 ? picture_extents(shape) : Extents();
      if (cuts && own.elements() == 0) {
        refuse_mixing(step, fmt::format("takes pictures [height, width, channels], and one example has the shape {}; "
                                        "mix_up mixes examples of any shape",
                                        shape.text()));
      }
      if (picture.elements() == 0) picture = own;
      numbers.push_back({inputs_[i].made_at, static_cast<std::size_t>(shape.elements()), own});
    }
    for (const Output& output : outputs_) {
      const Shape shape = output.mixed.row_shape();
      Extents own = picture_extents(shape);
      const bool is_picture = cuts && own.height == picture.height && own.width == picture.width;
      if (!is_picture && output.mixed.dtype == DType::kInt32) {
        refuse_mixing(step, fmt::format("mixes labels, and those of {} are class numbers; put one_hot before it, and "
                                        "take a loss of one-hot labels, such as categorical_crossentropy",
                                        output.mixed.origin));
      }
      if (cuts && !is_picture && shape.rank() >= 3) {
        refuse_mixing(step,
                      fmt::format("cuts pictures of {} x {}, and labels of the shape {} cannot be cut alike; store "
                                  "them at that size",
                                  picture.height, picture.width, shape.text()));
      }
      const auto labels = static_cast<std::size_t>(shape.elements());
      numbers.push_back({output.mixed_at, labels, is_picture ? own : Extents()});
      std::size_t at = output.mixed_at + labels;
      for (const auto* const counted : {&output.weights, &output.present}) {
        if (!counted->empty()) numbers.push_back({at++, 1, {}, true});
      }
    }
    mixing.push_back({step, std::move(numbers)});
  }
  mixed_ = MixedExamples(mixing, elements, options.seed);
}

/// Writes features, and labels in their final form.
void Feeder::read_for_mixing(std::int64_t row, std::int64_t epoch, std::span<float> to) const {
  if (ahead_) {
    ahead_->take({row, epoch}, [&](std::span<const float> made) { std::ranges::copy(made, to.begin()); });
  }
  for (const Input& input : inputs_) {
    if (!input.maker || input.is_ahead) continue;
    const auto elements = static_cast<std::size_t>(input.maker->features().row_elements());
    input.maker->make({row, epoch}, to.subspan(input.made_at, elements));
  }
  const auto in_dataset = static_cast<std::size_t>(dataset_.first_row() + row);
  for (const Output& output : outputs_) {
    const RowSource labels(output.pictures->labels());
    const std::byte* const read =
        output.is_ahead ? bytes_at(to, output.made_at) : labels.data + in_dataset * labels.bytes;
    output.converter.convert_row(read, bytes_at(to, output.mixed_at));
    std::size_t at = output.mixed_at + static_cast<std::size_t>(output.mixed.row_elements());
    for (const auto* const numbers : {&output.weights, &output.present}) {
      if (!numbers->empty()) to[at++] = (*numbers)[static_cast<std::size_t>(row)];
    }
  }
}

void Feeder::fill_mixed(const BatchPart& part, const BatchBuffers& to, std::int64_t epoch) const {
  const std::span<const std::int64_t> rows = part.rows();
  const auto taken_of = [&](const TensorView& view) {
    return view.elements() / static_cast<std::int64_t>(rows.size());
  };
  const auto converter_of = [&](std::size_t i) -> const RowConverter& {
    return to.inputs[i].dtype == DType::kBfloat16 ? inputs_[i].to_bfloat16 : inputs_[i].to_float32;
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].is_stored()) continue;
    converter_of(i)(dataset_.first_row(), rows, to.inputs[i].data, taken_of(to.inputs[i]));
  }
  const auto use = [&](std::size_t at, std::span<const float> example) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].is_stored()) continue;
      const std::int64_t taken = taken_of(to.inputs[i]);
      const std::size_t bytes = static_cast<std::size_t>(taken) * size_of(to.inputs[i].dtype);
      converter_of(i).convert_row(reinterpret_cast<const std::byte*>(example.data() + inputs_[i].made_at),
                                  to.inputs[i].data + at * bytes, taken);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const auto& [labels, weights, present] = to.outputs[i];
      const float* from = example.data() + outputs_[i].mixed_at;
      const std::size_t bytes = static_cast<std::size_t>(taken_of(labels)) * sizeof(float);
      std::memcpy(labels.data + at * bytes, from, bytes);
      from += outputs_[i].mixed.row_elements();
      if (weights != nullptr) weights[at] = *from;
      if (present != nullptr) present[at] = from[outputs_[i].weights.empty() ? 0 : 1];
    }
  };
  mixed_.make(
      part, epoch, [&](std::int64_t row, std::span<float> one) { read_for_mixing(row, epoch, one); }, use);
}

void Feeder::copy_mixed(const BatchPart& part, std::span<std::byte* const> to_inputs,
                        std::span<const LabelCopies> to_outputs, std::int64_t epoch) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].is_stored()) continue;
    const RowSource from(features(i));
    for (std::size_t at = 0; at < part.count; ++at) {
      const auto row = static_cast<std::size_t>(dataset_.first_row() + part.rows()[at]);
      std::memcpy(to_inputs[i] + at * from.bytes, from.data + row * from.bytes, from.bytes);
    }
  }
  const auto use = [&](std::size_t at, std::span<const float> example) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].is_stored()) continue;
      const std::size_t bytes = RowSource(features(i)).bytes;
      std::memcpy(to_inputs[i] + at * bytes, example.data() + inputs_[i].made_at, bytes);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const auto& [labels, weights, present] = to_outputs[i];
      const float* from = example.data() + outputs_[i].mixed_at;
      const std::size_t bytes = RowSource(outputs_[i].mixed).bytes;
      std::memcpy(labels + at * bytes, from, bytes);
      from += outputs_[i].mixed.row_elements();
      if (weights != nullptr) weights[at] = *from;
      if (present != nullptr) present[at] = from[outputs_[i].weights.empty() ? 0 : 1];
    }
  };
  mixed_.make(
      part, epoch, [&](std::int64_t row, std::span<float> one) { read_for_mixing(row, epoch, one); }, use);
}

}  // namespace mirrortrain::data
