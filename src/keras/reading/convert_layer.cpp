#include "keras/reading/convert_layer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "config/names.h"
#include "config/scalar.h"
#include "data/preprocessing/preprocessing.h"
#include "keras/options.h"
#include "keras/reading/convert_operation.h"
#include "model/layers.h"

namespace mirrortrain::keras {
namespace {

using config::Value;
using Entries = std::vector<Value::Entry>;

const config::Schema& layers() { return schema_of<Layer>(); }
const config::Schema& steps() { return schema_of<data::PreprocessingStep>(); }

/// The layer's option `name` as JSON, without what has no meaning of its own.
Json without_names(Json config) {
  for (const char* name : {"name", "go_backwards", "seed", "dtype"}) config.erase(name);
  for (auto& [key, value] : config.items()) {
    if (value.is_object()) value.erase("shared_object_id");
  }
  return config;
}

/// Whether the backward layer of a Bidirectional is what it is by default.
bool mirrors(const Json& forward, const Json& backward) {
  const auto a = as_object(forward), b = as_object(backward);
  if (!a || !b || a->class_name != b->class_name || !a->config->is_object() || !b->config->is_object()) return false;
  return without_names(*a->config) == without_names(*b->config) &&
         at(*a->config, "go_backwards") != at(*b->config, "go_backwards");
}

/// The types of a layer and of those inside.
void add_types(const Json& config, const config::Schema& type, std::vector<std::string>& types) {
  types.push_back(type.name);
  const auto inside = as_object(at(config, "layer"));
  if (!inside || types.size() > 4) return;
  if (const config::Schema* const inner = type_named(layers(), inside->class_name)) {
    add_types(*inside->config, *inner, types);
  }
}

/// What was given at the call: an option of the layer here, or a problem.
void add_call_options(const Call& call, const config::Schema& type, const OptionPlace& place, Entries& options) {
  Json given = Json::object();
  for (const auto& [name, value] : call.options.items()) {
    if (value.is_null() || value == Json(false)) continue;
    const auto is_key = [&name = name](const auto& key) { return key.name == name; };
    if (value != Json("a tensor") && std::ranges::any_of(type.keys, is_key)) {
      given[name] = value;
    } else {
      place.problems.add(
          place.where, fmt::format("is called with {}={}, which nothing here does", shortened(name), described(value)));
    }
  }
  for (Value::Entry& entry : converted_options(given, type, place)) {
    std::erase_if(options, [&](const auto& option) { return option.key == entry.key; });
    options.push_back(std::move(entry));
  }
}

/// A layer's own variable, which a .keras file and a whole-model .h5 keep in different places; null if there is none.
const StoredTensor* find_variable(const NetworkLayer& layer, int number, const Hdf5Contents& weights) {
  for (const char* const list : {"vars", "ordered"}) {
    const auto found = weights.datasets.find(fmt::format("{}/{}/{}", layer.group, list, number));
    if (found != weights.datasets.end()) return &found->second;
  }
  return nullptr;
}

/// The numbers of an option that has one for each channel; one is that of all. nullopt where it is something else.
std::optional<std::vector<std::string>> of_channels(const Json& value, std::size_t channels) {
  const Json list = as_list(value).is_array() ? as_list(value) : Json::array({value.is_null() ? Json(0) : value});
  if (list.size() != 1 && list.size() != channels) return std::nullopt;
  std::vector<std::string> numbers;
  for (const Json& number : list) {
    if (!number.is_number()) return std::nullopt;
    numbers.push_back(plain_value(number).text());
  }
  numbers.resize(channels, numbers.front());
  return numbers;
}

/// A formula for the channels, of two numbers of their own, {1} and {2}, and the channel, {0}; "" where these are no
/// lists of numbers.
std::string formula_of_channels(const char* formula, const Json& one, const Json& other, const Json& shape) {
  constexpr std::int64_t kMostChannels = 256;  // each is a part of the formula
  const Json& last = as_list(shape).empty() ? shape : as_list(shape).back();
  if (!last.is_number_integer() || last < Json(1) || last > Json(kMostChannels)) return "";
  const auto channels = last.get<std::size_t>();
  const auto ones = of_channels(one, channels), others = of_channels(other, channels);
  if (!ones || !others) return "";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < channels; ++i) {
    parts.push_back(
        fmt::format(fmt::runtime(formula), fmt::format("x[..., {}:{}]", i, i + 1), (*ones)[i], (*others)[i]));
  }
  return channels == 1 ? parts[0] : fmt::format("concatenate({}, axis=-1)", fmt::join(parts, ", "));
}

/// What a normalization divides by, for a variance or for each of a list; null where these are no numbers.
Json deviations(const Json& variance) {
  const auto of_one = [](const Json& one) {
    return one.is_number() ? Json(std::max(std::sqrt(one.get<double>()), 1e-7)) : Json();
  };
  if (!as_list(variance).is_array()) return of_one(variance);
  Json all = Json::array();
  for (const Json& one : as_list(variance)) all.push_back(of_one(one));
  return all;
}

/// Whether a normalization has statistics of the last axis alone.
bool is_of_last_axis(const NetworkLayer& layer, const Call& call) {
  const Json &axis = at(*layer.config, "axis"), &shape = call.inputs[0].shape;
  const Json& only = as_list(axis).is_array() && as_list(axis).size() == 1 ? as_list(axis)[0] : axis;
  return only == Json(-1) || (shape.is_array() && only == Json(shape.size() - 1));
}

/// A normalization with given statistics, of all or of the channels, which are constants of the formula; "" for others.
std::string given_normalization(const NetworkLayer& layer, const Call& call) {
  const Json& mean = at(*layer.config, "mean");
  const Json deviation = deviations(at(*layer.config, "variance"));
  if (call.inputs.size() != 1) return "";
  const char* const formula =
      at(*layer.config, "invert") == Json(true) ? "({1}) + {0} * ({2})" : "({0} - ({1})) / ({2})";
  if (mean.is_number() && deviation.is_number()) {
    return fmt::format(fmt::runtime(formula), "x", plain_value(mean).text(), plain_value(deviation).text());
  }
  const bool has_channels = is_of_last_axis(layer, call) && !mean.is_null();
  return has_channels ? formula_of_channels(formula, mean, deviation, call.inputs[0].shape) : "";
}

/// A normalization within a model: its statistics are weights that are not trained.
ConvertedLayer normalization(const NetworkLayer& layer, const Call& call, const Hdf5Contents& weights,
                             const OptionPlace& place) {
  const std::string given = given_normalization(layer, call);
  if (!given.empty()) return {"expression", {{"formula", {}, config::text_value(given)}}, {"expression"}};
  const StoredTensor* const found = find_variable(layer, 0, weights);
  const Json& mean = at(*layer.config, "mean");
  if (found == nullptr || !mean.is_null()) {
    place.problems.add(
        place.where,
        "behind other layers, or of an input that others read too, it needs statistics that were adapted; "
        "make it the first layer of an input that nothing else reads");
    return {"identity", {}, {"identity"}};
  }
  if (found->shape.rank() > 0 && (call.inputs.size() != 1 || !is_of_last_axis(layer, call))) {
    place.problems.add(place.where,
                       fmt::format("axis: {}: behind other layers statistics are of the last axis here; make it the "
                                   "first layer of an input",
                                   described(at(*layer.config, "axis"))));
  }
  const bool inverts = at(*layer.config, "invert") == Json(true);
  std::vector<Value> dims;
  for (const std::int64_t extent : found->shape) dims.push_back(Value::scalar(std::to_string(extent), false));
  const auto parameter = [&](std::string_view initializer) {
    return Value::mapping({{"shape", {}, Value::sequence(dims)}, {"initializer", {}, config::text_value(initializer)}});
  };
  const std::string formula = inverts ? "moving_mean + x * maximum(sqrt(moving_variance), 1e-7)"
                                      : "(x - moving_mean) / maximum(sqrt(moving_variance), 1e-7)";
  return {"expression",
          {{"formula", {}, config::text_value(formula)},
           {"parameters",
            {},
            Value::mapping({{"moving_mean", {}, parameter("zeros")}, {"moving_variance", {}, parameter("ones")}})},
           {"trainable", {}, Value::scalar("false", false)}},
          {"normalization"}};
}

/// A factor for each channel, which keras.applications' ConvNeXt has in a layer of its own.
ConvertedLayer layer_scale(const NetworkLayer& layer, const OptionPlace& place) {
  const Json &channels = at(*layer.config, "projection_dim"), &initial = at(*layer.config, "init_values");
  if (!channels.is_number_integer() || !initial.is_number()) {
    place.problems.add(place.where, "expected its projection_dim and init_values; the file is damaged");
    return {"identity", {}, {"identity"}};
  }
  const Value gamma = Value::mapping(
      {{"shape", {}, Value::sequence({plain_value(channels)})},
       {"initializer", {}, Value::mapping({{"constant", {}, Value::mapping({{"value", {}, plain_value(initial)}})}})}});
  return {
      "expression",
      {{"formula", {}, config::text_value("x * gamma")}, {"parameters", {}, Value::mapping({{"gamma", {}, gamma}})}},
      {"expression"}};
}

/// A preprocessing layer that is not the first one; null's type where there is none.
ConvertedLayer within_model(const NetworkLayer& layer, const Call& call, const Hdf5Contents& weights,
                            const OptionPlace& place) {
  if (layer.class_name == "Rescaling") {
    const Json &scale = at(*layer.config, "scale"), &offset = at(*layer.config, "offset");
    if (scale == Json(1.0) && offset == Json(0.0)) return {"identity", {}, {"identity"}};
    if (scale.is_number() && (offset.is_number() || offset.is_null())) {
      const std::string add = offset.is_null() ? "0" : plain_value(offset).text();
      return {"expression",
              {{"formula", {}, config::text_value(fmt::format("x * {} + ({})", plain_value(scale).text(), add))}},
              {"expression"}};
    }
    const std::string formula = call.inputs.size() == 1
                                    ? formula_of_channels("{} * ({}) + ({})", scale, offset, call.inputs[0].shape)
                                    : std::string();
    if (!formula.empty()) return {"expression", {{"formula", {}, config::text_value(formula)}}, {"expression"}};
  }
  if (layer.class_name == "Normalization") return normalization(layer, call, weights, place);
  place.problems.add(place.where,
                     "is a step of data.preprocessing here, which comes before all layers; make it the first "
                     "layer of an input that nothing else reads, or leave it out of the model");
  return {"identity", {}, {"identity"}};
}

void refuse_unknown(const NetworkLayer& layer, const OptionPlace& place) {
  std::string advice = config::advice_on(layer.class_name, layers().advice);
  for (const config::Schema& part : layers().parts) {
    if (advice.empty()) advice = config::advice_on(layer.class_name, part.advice);
  }
  if (advice.empty()) {
    std::vector<config::Advice> all = config::detail::choice_of<Layer>().advice;
    advice = config::advice_on(layer.class_name, all);
  }
  place.problems.add(place.where, "no such layer exists here" + advice);
}

}  // namespace

ConvertedLayer convert_layer(const NetworkLayer& layer, const Call& call, const Hdf5Contents& weights,
                             Problems& problems) {
  if (layer.is_operation()) return convert_operation(layer, call, problems);
  const OptionPlace place{problems, layer.described()};
  const config::Schema* const type = layer.class_name == "RNN" ? nullptr : type_named(layers(), layer.class_name);
  if (type == nullptr && is_preprocessing(layer)) return within_model(layer, call, weights, place);
  if (layer.class_name == "LayerScale" && layer.module != "keras.layers") return layer_scale(layer, place);
  if (type == nullptr || type->name == "reuse" || type->name == "expression") {
    refuse_unknown(layer, place);
    return {"identity", {}, {"identity"}};
  }
  std::vector<std::string_view> taken;
  if (type->name == "bidirectional" && mirrors(at(*layer.config, "layer"), at(*layer.config, "backward_layer"))) {
    taken.push_back("backward_layer");
  }
  if (type->name == "bidirectional" && layer.config->contains("merge_mode") &&
      at(*layer.config, "merge_mode").is_null()) {
    place.problems.add(place.where,
                       "merge_mode: null: it gives two outputs, and layers have one here; join them in the layer, as "
                       "merge_mode: concat does");
  }
  ConvertedLayer result{type->name, converted_options(*layer.config, *type, place, taken), {}};
  add_types(*layer.config, *type, result.types);
  Call own = call;
  own.options.erase("reverse");  // says how it is called, not what it is
  add_call_options(own, *type, place, result.options);
  Value value = Value::mapping({{result.type, {}, Value::mapping(std::move(result.options))}});
  Layer read;
  value = checked<Layer>(value, place, read);
  result.options = value.is_mapping() ? value.entries().front().value.entries() : Entries{};
  return result;
}

ConvertedLayer at_each_step(ConvertedLayer expression) {
  Entries own;
  for (Value::Entry& option : expression.options) {
    if (option.key == "trainable") own.push_back(option);  // which the wrapper says
  }
  std::erase_if(expression.options, [](const Value::Entry& option) { return option.key == "trainable"; });
  Value inside = Value::mapping({{expression.type, {}, Value::mapping(std::move(expression.options))}});
  own.insert(own.begin(), {"layer", {}, std::move(inside)});
  return {"time_distributed", std::move(own), std::move(expression.types)};
}

bool is_preprocessing(const NetworkLayer& layer) {
  return !layer.is_operation() && type_named(steps(), layer.class_name) != nullptr &&
         type_named(layers(), layer.class_name) == nullptr;
}

namespace {

/// What an adapted layer has learned, as an option's list.
void add_adapted(const NetworkLayer& layer, const Hdf5Contents& weights, Json& options, const OptionPlace& place) {
  if (layer.class_name == "Discretization" && !at(options, "bin_boundaries").is_null()) options.erase("num_bins");
  if (layer.class_name != "Normalization" || !at(options, "mean").is_null()) return;
  for (const auto& [name, number] : {std::pair("mean", 0), std::pair("variance", 1)}) {
    const StoredTensor* const found = find_variable(layer, number, weights);
    if (found == nullptr || found->dtype != DType::kFloat32) {
      place.problems.add(place.where, fmt::format("its {} is missing; the file is damaged", name));
      return;
    }
    options[name] = Json::array();
    for (const float value : found->span<float>()) options[name].push_back(value);
  }
}

/// The numbers of lists of lists, as those of several axes are, in one list.
Json flat(const Json& numbers) {
  if (!numbers.is_array() || std::ranges::none_of(numbers, [](const Json& one) { return one.is_array(); })) {
    return numbers;
  }
  Json all = Json::array();
  for (const Json& part : numbers) {
    const Json inside = flat(part);
    for (const Json& number : as_list(inside)) all.push_back(number);
  }
  return all;
}

/// Without an axis there is one mean and one variance, whatever the shape.
void keep_one_scale(Json& options) {
  const Json& axis = at(options, "axis");
  if (!axis.is_null() && !as_list(axis).empty()) return;
  options.erase("axis");
  for (const char* const name : {"mean", "variance"}) {
    while (at(options, name).is_array() && at(options, name).size() == 1) options[name] = Json(options[name][0]);
  }
}

std::vector<std::int64_t> shape_behind(const data::PreprocessingStep& step, const std::vector<std::int64_t>& shape) {
  return config::visit(
      [&](const auto& options) {
        std::vector<std::int64_t> behind = shape;
        if constexpr (requires { options.height.value; }) {
          if (behind.size() >= 2) behind[0] = options.height.value, behind[1] = options.width;
        } else if constexpr (requires { options.bins(); }) {
          behind = data::shape_after_bins(options.output_mode, options.bins(), Shape(shape)).dims();
        }
        return behind;
      },
      step);
}

}  // namespace

std::vector<config::Value> convert_preprocessing(const NetworkLayer& layer, const std::string& input,
                                                 const Hdf5Contents& weights, std::vector<std::int64_t>& shape,
                                                 Problems& problems) {
  const OptionPlace place{problems, layer.described()};
  const config::Schema& type = *type_named(steps(), layer.class_name);
  Json options = *layer.config;
  add_adapted(layer, weights, options, place);
  if (layer.class_name == "Normalization" && problems.empty()) {
    keep_one_scale(options);
    for (const char* const name : {"mean", "variance"}) options[name] = flat(at(options, name));
  }
  std::vector<std::string_view> taken = {"trainable"};
  if (at(options, "fill_mode") == Json("constant") && type.name == "resizing") taken.push_back("fill_mode");
  Entries entries = converted_options(options, type, place, taken);
  if (!input.empty()) entries.push_back({"input", {}, config::text_value(input)});
  data::PreprocessingStep step;
  Value value = checked<data::PreprocessingStep>(
      entries.empty() ? config::text_value(type.name)
                      : Value::mapping({{type.name, {}, Value::mapping(std::move(entries))}}),
      place, step);
  if (problems.empty()) shape = shape_behind(step, shape);
  return {std::move(value)};
}

}  // namespace mirrortrain::keras
