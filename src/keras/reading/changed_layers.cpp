#include "keras/reading/changed_layers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "keras/options.h"
#include "keras/reading/convert_layer.h"
#include "model/layers.h"

namespace mirrortrain::keras {

NetworkLayer ChangedLayers::with_options(NetworkLayer layer, Json options) {
  options_.push_back(std::make_shared<const Json>(std::move(options)));
  layer.config = options_.back().get();
  return layer;
}

NetworkLayer ChangedLayers::without_activation(const NetworkLayer& layer) {
  Json config = *layer.config;
  config["activation"] = "linear";
  return with_options(layer, std::move(config));
}

NetworkLayer ChangedLayers::over_time(const NetworkLayer& layer, const Call& call) {
  constexpr std::array kOfEqualShapes = {"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"};
  if (is_preprocessing(layer)) return layer;
  const auto differs = [&](const Tensor& input) { return input.shape != call.inputs[0].shape; };
  const bool is_merge = std::ranges::count(kOfEqualShapes, layer.class_name) > 0;
  if (is_merge && std::ranges::none_of(call.inputs, differs)) return layer;
  NetworkLayer changed = layer;
  Json config;
  if (layer.class_name == "Concatenate") {
    config = *layer.config;
    const Json& axis = at(config, "axis");
    if (axis.is_number_integer() && axis > Json(0)) config["axis"] = axis.get<std::int64_t>() + 1;
  } else {
    if (layer.is_operation() || call.inputs.size() != 1) {
      problems_.add(layer.described(),
                    "within a model in TimeDistributed: here it is layers of one input, sums of tensors of one shape "
                    "and Concatenate that are applied to each step; leave TimeDistributed out, or write it otherwise");
    }
    config["layer"] = {{"module", layer.module}, {"class_name", layer.class_name}, {"config", *layer.config}};
    changed.class_name = "TimeDistributed";
    changed.module = "keras.layers";
  }
  return with_options(std::move(changed), std::move(config));
}

bool ends_with_activation(const NetworkLayer& layer) {
  const config::Schema* const type = type_named(schema_of<Layer>(), layer.class_name);
  if (type == nullptr) return false;
  const std::string& name = type->name;
  const bool is_convolution = name.find("conv") != name.npos && !name.starts_with("conv_lstm");
  return is_convolution || name == "dense" || name == "einsum_dense" || name == "activation";
}

}  // namespace mirrortrain::keras
