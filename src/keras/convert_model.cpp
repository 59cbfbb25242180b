#include "keras/convert_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "config/scalar.h"
#include "keras/convert_layer.h"
#include "keras/layer_names.h"
#include "keras/layer_order.h"
#include "keras/network.h"
#include "keras/options.h"
#include "model/layers.h"

namespace mirrortrain::keras {
namespace {

using config::Value;

/// A call of a layer, by name and number.
using CallKey = std::pair<std::string, std::size_t>;

/// A list of layers that is being written: the model's, or a block's.
struct List {
  std::vector<Value> items;
  std::string last = "input";  ///< name of what comes before the next item
  LayerNames names;
  std::vector<LayerOrigin> origins;                ///< names within the list
  std::map<std::string, std::string> whole_names;  ///< of uses of blocks: their outputs' layers

  /// A value's layer, where the value is that of a use of a block.
  std::string whole_name(const std::string& value) const {
    const auto found = whole_names.find(value);
    return found == whole_names.end() ? value : found->second;
  }
};

/// The names, in a list, of the outputs of a network's calls.
struct Scope {
  std::map<CallKey, std::vector<std::string>> values;    ///< what other layers name as inputs, by output
  std::map<std::string, std::string> first;              ///< by layer of Keras's: what `reuse` names
  std::map<std::string, std::shared_ptr<Scope>> inside;  ///< of networks whose layers are in the same list
};

/// A block that a network became.
struct Block {
  std::string name;
  std::vector<LayerOrigin> origins;  ///< names within it
  std::string output;                ///< the output's layer within it
};

class Converter {
 public:
  Converter(const Hdf5Contents& weights, Problems& problems) : weights_(weights), problems_(problems) {}

  ConvertedModel convert(const Json& model) {
    ConvertedModel result;
    has_masks_ = makes_masks(model);
    const Network network = read_network(model, problems_);
    result.name = network.name;
    if (!problems_.empty()) return result;
    List list;
    Scope scope;
    add_inputs(network, list, scope, result);
    add_layers(network, list, scope, {});
    add_outputs(network, list, scope, result);
    result.layers = Value::sequence(std::move(list.items));
    if (!blocks_.empty()) result.blocks = Value::mapping(std::move(blocks_));
    result.origins = std::move(list.origins);
    result.is_bfloat16 = is_bfloat16_;
    if (!called_in_a_mode_.empty()) {
      result.remarks.push_back(fmt::format(
          "{} is called with `training`, which Keras's fit does not heed, and neither is it here: freeze the "
          "layer (trainable: false) or leave it out where that was meant",
          shortened(fmt::format("{}", fmt::join(called_in_a_mode_, ", ")), 100)));
    }
    return result;
  }

 private:
  // Inputs and their preprocessing.

  void add_inputs(const Network& network, List& list, Scope& scope, ConvertedModel& result) {
    const bool is_only = network.inputs.size() == 1;
    for (const Tensor& tensor : network.inputs) {
      const NetworkLayer& layer = *network.find(tensor.layer);
      ConvertedInput input;
      input.name = is_only ? "input" : list.names.unique(layer.name);
      const auto shape = input_shape_of(layer, problems_);
      input.data = input.model = shape.value_or(std::vector<std::int64_t>{});
      input.holds_numbers = text_at(*layer.config, "dtype").starts_with("int");
      if (text_at(*layer.config, "dtype") == "string") {
        problems_.add(layer.described(),
                      "takes texts; here words become numbers where the data are read, by encoding of a csv's "
                      "columns: leave the layer that looks them up out of the model");
      }
      Tensor at_end = tensor;
      while (const NetworkLayer* const step = next_preprocessing(network, at_end)) {
        add_steps(*step, is_only ? "" : input.name, input.model, result, 0);
        at_end = {step->name, 0, 0, {}};
        preprocessed_.insert(step->name);
      }
      refuse_open(layer, input.model, problems_);
      for (std::size_t axis = 0; axis < input.data.size(); ++axis) {  // of any extent before it is resized
        if (input.data[axis] == kOpen && axis < input.model.size()) input.data[axis] = input.model[axis];
      }
      scope.values[{at_end.layer, at_end.call}] = {input.name};
      preprocessed_.insert(layer.name);
      result.inputs.push_back(std::move(input));
    }
    list.last = is_only ? "input" : "";
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

  bool is_all_preprocessing(const NetworkLayer& layer, int level) {
    if (!layer.is_network()) return keras::is_preprocessing(layer);
    if (layer.class_name != "Sequential" || level > kMostNested) return false;
    Problems ignored;
    const Network inside = read_network(layer, ignored);
    return ignored.empty() && inside.layers.size() > 1 &&
           std::ranges::all_of(inside.layers, [&](const NetworkLayer& one) {
             return one.is_input() || is_all_preprocessing(one, level + 1);
           });
  }

  void add_steps(const NetworkLayer& layer, const std::string& input, std::vector<std::int64_t>& shape,
                 ConvertedModel& result, int level) {
    if (layer.is_network()) {
      for (const NetworkLayer& one : read_network(layer, problems_).layers) {
        if (!one.is_input() && level <= kMostNested) add_steps(one, input, shape, result, level + 1);
      }
      return;
    }
    for (Value& step : convert_preprocessing(layer, input, weights_, shape, problems_)) {
      result.preprocessing.push_back(std::move(step));
    }
  }

  // Layers.

  /// Whether moving statistics are updated by several calls, whose order then counts.
  static bool shares_statistics(const Network& network) {
    return std::ranges::any_of(network.layers, [](const NetworkLayer& layer) {
      return layer.calls.size() > 1 && (layer.is_network() || layer.class_name == "BatchNormalization");
    });
  }

  /// The order of Keras; of a network without circles.
  static std::vector<std::pair<const NetworkLayer*, std::size_t>> order_of_keras(const Network& network) {
    LayerCalls calls;
    for (const NetworkLayer& layer : network.layers) {
      for (const Call& call : layer.calls) {
        auto& sources = calls[layer.name].emplace_back();
        for (const Tensor& input : call.inputs) sources.emplace_back(input.layer, input.call);
      }
    }
    std::vector<LayerCall> outputs;
    for (const Tensor& output : network.outputs) outputs.emplace_back(output.layer, output.call);
    std::vector<std::pair<const NetworkLayer*, std::size_t>> order;
    for (const auto& [layer, call] : calls_in_order(calls, outputs)) order.emplace_back(network.find(layer), call);
    return order;
  }

  /// The calls that outputs depend on, each behind what it reads, otherwise in the file's order.
  std::vector<std::pair<const NetworkLayer*, std::size_t>> in_order(const Network& network) {
    std::set<CallKey> needed, done;
    std::vector<Tensor> open = network.outputs;
    while (!open.empty()) {
      const Tensor one = open.back();
      open.pop_back();
      if (!needed.insert({one.layer, one.call}).second) continue;
      for (const Tensor& input : network.find(one.layer)->calls[one.call].inputs) open.push_back(input);
    }
    std::vector<std::pair<const NetworkLayer*, std::size_t>> order;
    for (bool any = true; any;) {
      any = false;
      for (const NetworkLayer& layer : network.layers) {
        for (std::size_t call = 0; call < layer.calls.size(); ++call) {
          const CallKey key{layer.name, call};
          const auto is_done = [&](const Tensor& input) { return done.contains({input.layer, input.call}); };
          if (!needed.contains(key) || done.contains(key) || !std::ranges::all_of(layer.calls[call].inputs, is_done))
            continue;
          done.insert(key);
          order.emplace_back(&layer, call);
          any = true;
        }
      }
    }
    if (done.size() != needed.size()) {
      problems_.add(fmt::format("model '{}'", shortened(network.name)),
                    "its layers read each other in a circle; the file is damaged");
    }
    if (done.size() == needed.size() && shares_statistics(network)) order = order_of_keras(network);
    // A block's output is its last layer: nothing reads the only output.
    if (network.outputs.size() == 1 && !order.empty()) {
      const auto is_output = [&](const auto& one) {
        return one.first->name == network.outputs[0].layer && one.second == network.outputs[0].call;
      };
      std::ranges::stable_partition(order, [&](const auto& one) { return !is_output(one); });
    }
    return order;
  }

  /// How a network is within the model.
  struct Surroundings {
    std::string prefix;  ///< of its layers' names, where the list is that of the network around it
    int level = 0;
    bool is_over_time = false;  ///< each layer is applied to each step of a sequence by itself
  };

  /// Adds a network's layers to a list.
  void add_layers(const Network& network, List& list, Scope& scope, const Surroundings& around) {
    const int level = around.level;
    if (level > kMostNested) return problems_.add("", "models are nested deeper than here");
    check_masks(network);
    for (const auto& [layer, call] : in_order(network)) {
      if (layer->is_input() || (level == 0 && preprocessed_.contains(layer->name))) continue;
      note_precision(*layer);
      if (layer->calls[call].training) called_in_a_mode_.push_back(layer->name);
      std::vector<std::string> inputs;
      for (const Tensor& input : layer->calls[call].inputs) {
        const auto& values = scope.values[{input.layer, input.call}];
        if (input.output >= values.size()) {
          problems_.add(layer->described(),
                        fmt::format("reads output {} of '{}': layers have one output here (no return_state or scores)",
                                    input.output, shortened(input.layer)));
          return;
        }
        inputs.push_back(values[input.output]);
      }
      if (const auto model = layer->model_of_steps()) {
        add_network(*model, call, inputs, list, scope, {around.prefix, around.level, true});
      } else if (layer->is_network()) {
        add_network(*layer, call, inputs, list, scope, around);
      } else {
        add_layer(*layer, call, inputs, list, scope, around);
      }
    }
  }

  /// What the names of uses of a layer have behind them, but the first.
  static std::string call_suffix(const NetworkLayer& layer, std::size_t number, const Scope& scope) {
    const bool is_first = !scope.first.contains(layer.name) && !scope.inside.contains(layer.name);
    return is_first ? "" : fmt::format("_call_{}", number + 1);
  }

  void add_item(List& list, const std::string& type, std::vector<Value::Entry> options, const std::string& name,
                const std::vector<std::string>& inputs) {
    options.push_back({"name", {}, config::text_value(name)});
    if (inputs.size() != 1 || inputs[0] != list.last) {
      std::vector<Value> names;
      for (const std::string& input : inputs) names.push_back(config::text_value(input));
      options.push_back({"inputs", {}, Value::sequence(std::move(names))});
    }
    list.items.push_back(Value::mapping({{type, {}, Value::mapping(std::move(options))}}));
    list.last = name;
  }

  void add_layer(const NetworkLayer& layer, std::size_t number, const std::vector<std::string>& inputs, List& list,
                 Scope& scope, const Surroundings& around) {
    const auto activation = layer.activation();
    if (!activation || !ends_with_activation(layer)) return add_one(layer, number, inputs, list, scope, around);
    NetworkLayer without = layer;
    Json config = *layer.config;
    config["activation"] = "linear";
    changed_.push_back(std::make_shared<const Json>(std::move(config)));
    without.config = changed_.back().get();
    add_one(without, number, inputs, list, scope, around);
    add_one(activation->layer, number, scope.values[{layer.name, number}], list, scope, around);
    scope.values[{layer.name, number}] = scope.values[{activation->layer.name, number}];
  }

  /// Whether a layer's activation is the last that it does, so that a layer behind it may do the same.
  static bool ends_with_activation(const NetworkLayer& layer) {
    const config::Schema* const type = type_named(schema_of<Layer>(), layer.class_name);
    if (type == nullptr) return false;
    const std::string& name = type->name;
    const bool is_convolution = name.find("conv") != name.npos && !name.starts_with("conv_lstm");
    return is_convolution || name == "dense" || name == "einsum_dense" || name == "activation";
  }

  /// A layer of a model over time: TimeDistributed by itself, unless it is that anyway.
  NetworkLayer over_time(const NetworkLayer& layer, const Call& call) {
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
        problems_.add(
            layer.described(),
            "within a model in TimeDistributed: here it is layers of one input, sums of tensors of one shape "
            "and Concatenate that are applied to each step; leave TimeDistributed out, or write it otherwise");
      }
      config["layer"] = {{"module", layer.module}, {"class_name", layer.class_name}, {"config", *layer.config}};
      changed.class_name = "TimeDistributed";
      changed.module = "keras.layers";
    }
    changed_.push_back(std::make_shared<const Json>(std::move(config)));
    changed.config = changed_.back().get();
    return changed;
  }

  void add_one(const NetworkLayer& given, std::size_t number, const std::vector<std::string>& inputs, List& list,
               Scope& scope, const Surroundings& around) {
    const NetworkLayer layer = around.is_over_time ? over_time(given, given.calls[number]) : given;
    const Call& call = layer.calls[number];
    ConvertedLayer converted = convert_layer(layer, call, weights_, problems_);
    // The weights are in the group of the layer itself, which is one of the model's.
    if (layer.class_name != given.class_name && !converted.types.empty()) {
      converted.types.erase(converted.types.begin());
    }
    std::string wanted = around.prefix + layer.name + call_suffix(layer, number, scope);
    std::ranges::replace(wanted, '/', '_');
    const std::string name = list.names.unique(wanted);
    const bool reverses = call.options.contains("reverse") && call.options["reverse"] == Json(true);
    const auto first = scope.first.find(layer.name);
    if (first == scope.first.end() && reverses) {
      problems_.add(layer.described(), "is called in reverse before it is called");
    }
    // A tensor operation has no mask behind it; layers that stand for it may hand one on.
    if (layer.is_operation() && has_masks_ && converted.type != "expression") {
      const std::string with_mask = list.names.unique(wanted + "_masked");
      add_item(list, converted.type, converted.options, with_mask, inputs);
      add_item(list, "expression", {{"formula", {}, config::text_value("x")}}, name, {with_mask});
      scope.first[layer.name] = name;
    } else if (first == scope.first.end()) {
      add_item(list, converted.type, converted.options, name, inputs);
      scope.first[layer.name] = name;
      list.origins.push_back({name, layer.group, converted.types});
    } else {
      std::vector<Value::Entry> options = {{"layer", {}, config::text_value(first->second)}};
      if (reverses) options.push_back({"reverse", {}, Value::scalar("true", false)});
      add_item(list, "reuse", std::move(options), name, inputs);
    }
    scope.values[{layer.name, number}] = {name};
  }

  /// Whether any layer, of models within models too, makes a mask of padding.
  static bool makes_masks(const Json& json) {
    if (text_at(json, "class_name") == "Masking" || at(json, "mask_zero") == Json(true)) return true;
    return json.is_structured() && std::ranges::any_of(json, makes_masks);
  }

  // Models within models.

  void add_network(const NetworkLayer& layer, std::size_t number, const std::vector<std::string>& inputs, List& list,
                   Scope& scope, const Surroundings& around) {
    Problems damage;
    const Network network = read_network(layer, damage);
    if (!damage.empty()) return problems_.add_all(damage);
    if (inputs.size() != network.inputs.size()) {
      return problems_.add(layer.described(), fmt::format("is called on {} tensors and has {} inputs", inputs.size(),
                                                          network.inputs.size()));
    }
    const Surroundings inside{"", around.level + 1, around.is_over_time};
    if (around.is_over_time &&
        (network.inputs.size() != 1 || network.outputs.size() != 1 || makes_masks(*layer.config))) {
      return problems_.add(
          layer.described(),
          "in TimeDistributed: a model over time has one input and one output here, and makes no mask");
    }
    const std::string wanted = around.prefix + layer.name + call_suffix(layer, number, scope);
    if (!around.is_over_time && network.inputs.size() == 1 && network.outputs.size() == 1 &&
        network.find(network.outputs[0].layer)->is_input() == false) {
      use_block(layer, network, number, wanted, inputs, list, scope, inside);
    } else {
      add_inline(layer, network, number, inputs, list, scope,
                 {list.names.unique(wanted) + "_", inside.level, inside.is_over_time});
    }
  }

  void use_block(const NetworkLayer& layer, const Network& network, std::size_t number, const std::string& wanted,
                 const std::vector<std::string>& inputs, List& list, Scope& scope, const Surroundings& around) {
    const std::string name = list.names.unique(wanted);
    const auto first = scope.first.find(layer.name);
    const Block& block = block_of(layer, network, around);
    if (first != scope.first.end()) {
      add_item(list, "reuse", {{"layer", {}, config::text_value(first->second)}}, name, inputs);
    } else {
      add_item(list, block.name, {}, name, inputs);
      scope.first[layer.name] = name;
      for (const LayerOrigin& origin : block.origins) {
        list.origins.push_back({name + "_" + origin.name, origin.group, origin.types});
      }
    }
    for (const LayerOrigin& origin : block.origins) list.names.take(name + "_" + origin.name);
    list.whole_names[name] = name + "_" + block.output;
    scope.values[{layer.name, number}] = {name};
  }

  const Block& block_of(const NetworkLayer& layer, const Network& network, const Surroundings& around) {
    const auto known = blocks_by_group_.find(layer.group);
    if (known != blocks_by_group_.end()) return known->second;
    List list;
    Scope inside;
    inside.values[{network.inputs[0].layer, 0}] = {"input"};
    add_layers(network, list, inside, around);
    Block block;
    block.name = block_names_.unique(is_type(layer.name) ? layer.name + "_block" : layer.name);
    const auto& output = inside.values[{network.outputs[0].layer, network.outputs[0].call}];
    block.output = output.empty() ? "" : list.whole_name(output[0]);
    block.origins = std::move(list.origins);
    blocks_.push_back({block.name, {}, Value::mapping({{"layers", {}, Value::sequence(std::move(list.items))}})});
    return blocks_by_group_[layer.group] = std::move(block);
  }

  static bool is_type(const std::string& name) {
    return name == "repeat" || type_named(schema_of<Layer>(), name) != nullptr;
  }

  /// A network of several inputs or outputs, or over time: its layers, in the list around it.
  void add_inline(const NetworkLayer& layer, const Network& network, std::size_t number,
                  const std::vector<std::string>& inputs, List& list, Scope& scope, const Surroundings& around) {
    auto& inside = scope.inside[layer.name];
    if (inside == nullptr) inside = std::make_shared<Scope>();
    inside->values.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inside->values[{network.inputs[i].layer, network.inputs[i].call}] = {inputs[i]};
    }
    add_layers(network, list, *inside, around);
    std::vector<std::string> outputs;
    for (const Tensor& output : network.outputs) {
      const auto& values = inside->values[{output.layer, output.call}];
      outputs.push_back(values.empty() ? "" : values[0]);
    }
    scope.values[{layer.name, number}] = std::move(outputs);
  }

  // Outputs.

  void add_outputs(const Network& network, List& list, Scope& scope, ConvertedModel& result) {
    for (std::size_t i = 0; i < network.outputs.size(); ++i) {
      const Tensor& output = network.outputs[i];
      const auto& values = scope.values[{output.layer, output.call}];
      std::string value = output.output < values.size() ? values[output.output] : "";
      const auto is_input = [&](const ConvertedInput& input) { return input.name == value; };
      if (std::ranges::any_of(result.inputs, is_input)) {
        const std::string name = list.names.unique(output.layer);
        add_item(list, "identity", {}, name, {value});
        value = name;
      }
      result.outputs.push_back(list.whole_name(value));
      result.output_names.emplace(output.layer, result.outputs.back());
      if (!network.output_keys.empty()) result.output_names.emplace(network.output_keys[i], result.outputs.back());
    }
    result.names_outputs =
        result.outputs.size() != 1 || (!list.items.empty() && result.outputs[0] != list.whole_name(list.last));
  }

  // What else is noticed.

  void note_precision(const NetworkLayer& layer) {
    const Json& dtype = at(*layer.config, "dtype");
    const std::string name = dtype.is_string() ? dtype.get<std::string>() : text_at(at(dtype, "config"), "name");
    if (name == "mixed_bfloat16") is_bfloat16_ = true;
    if (name.empty() || name == "float32" || name == "mixed_bfloat16" || layer.is_operation()) return;
    problems_.add(layer.described(),
                  fmt::format("computes in {}; here there are float32 and mixed_bfloat16", shortened(name)));
  }

  /// A mask is handed on as it is here if it comes of an embedding or a masking layer.
  void check_masks(const Network& network) {
    const auto makes_mask = [](const NetworkLayer& layer) {
      return layer.class_name == "Masking" || at(*layer.config, "mask_zero") == Json(true) || layer.is_network();
    };
    const bool has_maker = std::ranges::any_of(network.layers, makes_mask);
    for (const NetworkLayer& layer : network.layers) {
      for (const Call& call : layer.calls) {
        for (const Tensor& mask : call.masks) {
          const NetworkLayer* const from = network.find(mask.layer);
          if (has_maker && from != nullptr && from->is_operation()) continue;
          problems_.add(layer.described(),
                        "is called with a mask of your own; here masks come of mask_zero of an embedding, "
                        "or of a masking layer");
        }
      }
    }
  }

  const Hdf5Contents& weights_;
  Problems& problems_;
  std::vector<std::shared_ptr<const Json>> changed_;  ///< options of layers that were divided, to which others refer
  std::vector<Value::Entry> blocks_;
  std::map<std::string, Block> blocks_by_group_;
  LayerNames block_names_;
  std::set<std::string> preprocessed_;         ///< inputs, and layers that became steps
  std::vector<std::string> called_in_a_mode_;  ///< layers
  bool is_bfloat16_ = false, has_masks_ = false;
};

}  // namespace

ConvertedModel convert_model(const Json& model, const Hdf5Contents& weights, Problems& problems) {
  return Converter(weights, problems).convert(model);
}

}  // namespace mirrortrain::keras
