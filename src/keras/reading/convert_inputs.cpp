#include "keras/reading/convert_inputs.h"

#include <algorithm>
#include <utility>

#include "keras/reading/convert_layer.h"

namespace mirrortrain::keras {
namespace {

bool is_all_preprocessing(const NetworkLayer& layer, int level) {
  if (!layer.is_network()) return is_preprocessing(layer);
  if (layer.class_name != "Sequential" || level > kMostNested) return false;
  Problems ignored;
  const Network inside = read_network(layer, ignored);
  return ignored.empty() && inside.layers.size() > 1 &&
         std::ranges::all_of(inside.layers, [&](const NetworkLayer& one) {
           return one.is_input() || is_all_preprocessing(one, level + 1);
         });
}

/// A preprocessing layer itself, or those of a Sequential one after another.
void add_layers(const NetworkLayer& layer, Problems& problems, int level, std::vector<NetworkLayer>& layers) {
  if (!layer.is_network()) {
    layers.push_back(layer);
    return;
  }
  for (const NetworkLayer& one : read_network(layer, problems).layers) {
    if (!one.is_input() && level <= kMostNested) add_layers(one, problems, level + 1, layers);
  }
}

/// The layer of preprocessing, or a Sequential of nothing else, that alone reads a tensor; null if there is none.
const NetworkLayer* next_preprocessing(const Network& network, const Tensor& tensor) {
  const NetworkLayer* reader = nullptr;
  std::size_t readers = std::ranges::count(network.outputs, tensor);
  for (const NetworkLayer& layer : network.layers) {
    for (const Call& call : layer.calls) {
      const auto reads = std::ranges::count(call.inputs, tensor);
      if (reads > 0) reader = &layer;
      readers += static_cast<std::size_t>(reads);
    }
  }
  if (readers != 1 || reader == nullptr || reader->calls.size() != 1 || reader->calls[0].inputs.size() != 1)
    return nullptr;
  return is_all_preprocessing(*reader, 0) ? reader : nullptr;
}

/// The steps that a layer of preprocessing stands for. `shape`: of an example before, and then behind them. `input`:
/// the model's, "" where it has one.
std::vector<config::Value> steps_of_preprocessing(const NetworkLayer& layer, const std::string& input,
                                                  const Hdf5Contents& weights, std::vector<std::int64_t>& shape,
                                                  Problems& problems) {
  std::vector<NetworkLayer> layers;
  add_layers(layer, problems, 0, layers);
  std::vector<config::Value> steps;
  for (const NetworkLayer& one : layers) {
    for (config::Value& step : convert_preprocessing(one, input, weights, shape, problems)) {
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

}  // namespace

ConvertedInputs convert_inputs(const Network& network, const Hdf5Contents& weights, LayerNames& names,
                               Problems& problems) {
  ConvertedInputs result;
  const bool is_only = network.inputs.size() == 1;
  for (const Tensor& tensor : network.inputs) {
    const NetworkLayer& layer = *network.find(tensor.layer);
    ConvertedInput input;
    input.name = is_only ? "input" : names.unique(layer.name);
    const auto shape = input_shape_of(layer, problems);
    input.data = input.model = shape.value_or(std::vector<std::int64_t>{});
    input.holds_numbers = text_at(*layer.config, "dtype").starts_with("int");
    if (text_at(*layer.config, "dtype") == "string") {
      problems.add(layer.described(),
                   "takes texts; here words become numbers where the data are read, by encoding of a csv's "
                   "columns: leave the layer that looks them up out of the model");
    }
    Tensor at_end = tensor;
    while (const NetworkLayer* const step = next_preprocessing(network, at_end)) {
      const std::string of_input = is_only ? std::string() : input.name;
      for (config::Value& one : steps_of_preprocessing(*step, of_input, weights, input.model, problems)) {
        result.preprocessing.push_back(std::move(one));
      }
      at_end = {step->name, 0, 0, {}};
      result.layers.insert(step->name);
    }
    refuse_open(layer, input.model, problems);
    for (std::size_t axis = 0; axis < input.data.size(); ++axis) {  // of any extent before it is resized
      if (input.data[axis] == kOpen && axis < input.model.size()) input.data[axis] = input.model[axis];
    }
    result.names[{at_end.layer, at_end.call}] = input.name;
    result.layers.insert(layer.name);
    result.inputs.push_back(std::move(input));
  }
  return result;
}

}  // namespace mirrortrain::keras
