#include "keras/reading/convert_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "config/scalar.h"
#include "keras/options.h"
#include "keras/reading/changed_layers.h"
#include "keras/reading/convert_inputs.h"
#include "keras/reading/convert_layer.h"
#include "keras/reading/layer_list.h"
#include "keras/reading/masks.h"
#include "keras/reading/network.h"
#include "keras/reading/network_calls.h"
#include "model/layers.h"

namespace mirrortrain::keras {
namespace {

using config::Value;

/// A block that a network became.
struct Block {
  std::string name;
  std::vector<LayerOrigin> origins;  ///< names within it
  std::string output;                ///< the output's layer within it
};

class Converter {
 public:
  Converter(const Hdf5Contents& weights, Problems& problems)
      : weights_(weights), problems_(problems), changed_(problems) {}

  ConvertedModel convert(const Json& model) {
    ConvertedModel result;
    has_masks_ = makes_masks(model);
    const Network network = read_network(model, problems_);
    result.name = network.name;
    if (!problems_.empty()) return result;
    LayerList list;
    OutputNames names;
    ConvertedInputs inputs = convert_inputs(network, weights_, list.names, problems_);
    for (const auto& [call, name] : inputs.names) names.values[call] = {name};
    list.last = inputs.inputs.size() == 1 ? inputs.inputs[0].name : "";
    result.inputs = std::move(inputs.inputs);
    result.preprocessing = std::move(inputs.preprocessing);
    preprocessed_ = std::move(inputs.layers);
    add_layers(network, {list, names}, {});
    add_outputs(network, list, names, result);
    result.layers = Value::sequence(std::move(list.items));
    if (!blocks_.empty()) result.blocks = Value::mapping(std::move(blocks_));
    result.origins = std::move(list.origins);
    set_precision(result);
    if (!called_in_a_mode_.empty()) {
      result.remarks.push_back(fmt::format(
          "{} is called with `training`, which Keras's fit does not heed, and neither is it here: freeze the "
          "layer (trainable: false) or leave it out where that was meant",
          shortened(fmt::format("{}", fmt::join(called_in_a_mode_, ", ")), 100)));
    }
    if (!with_lora_.empty()) {
      result.remarks.push_back(fmt::format(
          "{} has lora_rank: Keras saves such a kernel with its LoRA added, and both factors are zeros in the loaded "
          "model, there and here, so that neither trains; to train with a new LoRA, name Keras's file: "
          "initial_weights: "
          "{{file: model.keras, missing: initialize}}",
          shortened(fmt::format("{}", fmt::join(with_lora_, ", ")), 100)));
    }
    return result;
  }

 private:
  // Layers.

  /// Where a network's layers go, and how it is within the model.
  struct Here {
    LayerList& list;
    OutputNames& outputs;     ///< of the network's calls
    std::string prefix = {};  ///< of its layers' names, where the list is that of the network around it
    int level = 0;
    bool is_over_time = false;  ///< each layer is applied to each step of a sequence by itself
    const MaskPlan* masks = nullptr;
  };

  /// A call of a layer that is converted.
  struct Use {
    const NetworkLayer& layer;
    std::size_t number;               ///< of the layer's calls
    std::vector<std::string> inputs;  ///< as the list names them

    LayerCall key() const { return {layer.name, number}; }
    const Call& call() const { return layer.calls[number]; }
  };

  /// Adds a network's layers to a list. `masks`: of its inputs.
  void add_layers(const Network& network, Here here, std::vector<MaskState> masks) {
    if (here.level > kMostNested) return problems_.add("", "models are nested deeper than here");
    if (here.level == 0) query_masks_ = query_masks_of(network);
    const MaskPlan plan = plan_masks(network, std::move(masks), query_masks_, problems_);
    here.masks = &plan;
    if (here.level == 0) {
      for (const MaskState& output : plan.outputs) {
        unmasks_output_.push_back(ends_at_output(output, "the model's outputs", problems_));
      }
    }
    for (const auto& [layer, number] : calls_in_order(network, problems_)) {
      if (layer->is_input() || (here.level == 0 && preprocessed_.contains(layer->name))) continue;
      note_precision(*layer);
      Use use{*layer, number, {}};
      if (is_called_in_a_mode(*layer, use.call())) called_in_a_mode_.push_back(layer->name);
      if (!at(*layer->config, "lora_rank").is_null()) with_lora_.push_back(layer->name);
      for (const Tensor& input : use.call().inputs) {
        const auto& values = here.outputs.values[{input.layer, input.call}];
        if (input.output >= values.size()) {
          problems_.add(layer->described(),
                        fmt::format("reads output {} of '{}': layers have one output here (no return_state or scores)",
                                    input.output, shortened(input.layer)));
          return;
        }
        const bool is_unmasked = plan.unmasked.contains({use.key(), use.inputs.size()});
        use.inputs.push_back(is_unmasked ? here.list.add_unmasked(values[input.output]) : values[input.output]);
      }
      if (const auto model = layer->model_of_steps()) {
        add_network({*model, number, use.inputs}, {here.list, here.outputs, here.prefix, here.level, true, &plan});
      } else if (layer->is_network()) {
        add_network(use, here);
      } else {
        add_layer(use, here);
      }
    }
  }

  /// Whether somebody has called a layer with `training`, which Keras itself sets to false where that is the default.
  static bool is_called_in_a_mode(const NetworkLayer& layer, const Call& call) {
    const std::string& type = layer.class_name;
    const bool is_false_by_default = type.find("Dropout") != type.npos || type.find("Noise") != type.npos ||
                                     type.find("LSTM") != type.npos || type == "GRU" || type == "SimpleRNN" ||
                                     type == "SpectralNormalization";
    return call.training && (*call.training || !is_false_by_default);
  }

  /// Adds a layer, and another for an activation that is one of its own.
  void add_layer(const Use& use, const Here& here) {
    const auto activation = use.layer.activation();
    if (!activation || !ends_with_activation(use.layer)) return add_one(use, here);
    add_one({changed_.without_activation(use.layer), use.number, use.inputs}, here);
    add_one({activation->layer, use.number, here.outputs.values[use.key()]}, here);
    here.outputs.values[use.key()] = here.outputs.values[{activation->layer.name, use.number}];
  }

  void add_one(const Use& use, const Here& here) {
    const NetworkLayer layer = here.is_over_time ? changed_.over_time(use.layer, use.call()) : use.layer;
    const Call& call = layer.calls[use.number];
    ConvertedLayer converted = convert_layer(layer, call, weights_, problems_);
    // Keras's layer hands a mask on.
    if (converted.type == "expression" && is_preprocessing(layer) && here.masks->masked.contains(use.key())) {
      converted = at_each_step(std::move(converted));
    }
    // The weights are in the group of the layer itself, which is one of the model's.
    if (layer.class_name != use.layer.class_name && !converted.types.empty()) {
      converted.types.erase(converted.types.begin());
    }
    if (here.masks->without_query_mask.contains(use.key())) {
      converted.options.push_back({"use_query_mask", {}, Value::scalar("false", false)});
    }
    LayerList& list = here.list;
    std::string wanted = here.prefix + layer.name + here.outputs.suffix_of_call(layer.name, use.number);
    std::ranges::replace(wanted, '/', '_');
    const std::string name = list.names.unique(wanted);
    const bool reverses = call.options.contains("reverse") && call.options["reverse"] == Json(true);
    const auto first = here.outputs.first.find(layer.name);
    if (first != here.outputs.first.end() && here.masks->without_query_mask.contains({layer.name, 0}) !=
                                                 here.masks->without_query_mask.contains(use.key())) {
      problems_.add(
          layer.described(),
          "uses the mask of its query in one call and not in another, as a MultiHeadAttention has taken it off "
          "what it read; build a layer for each");
    }
    if (first == here.outputs.first.end() && reverses) {
      problems_.add(layer.described(), "is called in reverse before it is called");
    }
    // A tensor operation has no mask behind it; layers that stand for it may hand one on.
    if (layer.is_operation() && has_masks_ && converted.type != "expression") {
      const std::string with_mask = list.names.unique(wanted + "_masked");
      list.add(converted.type, converted.options, with_mask, use.inputs);
      list.add("expression", {{"formula", {}, config::text_value("x")}}, name, {with_mask});
      here.outputs.first[layer.name] = name;
    } else if (first == here.outputs.first.end()) {
      list.add(converted.type, converted.options, name, use.inputs);
      here.outputs.first[layer.name] = name;
      list.origins.push_back({name, layer.group, converted.types});
    } else {
      std::vector<Value::Entry> options = {{"layer", {}, config::text_value(first->second)}};
      if (reverses) options.push_back({"reverse", {}, Value::scalar("true", false)});
      list.add("reuse", std::move(options), name, use.inputs);
    }
    here.outputs.values[use.key()] = {name};
  }

  // Models within models.

  void add_network(const Use& use, const Here& here) {
    const NetworkLayer& layer = use.layer;
    Problems damage;
    const Network network = read_network(layer, damage);
    if (!damage.empty()) return problems_.add_all(damage);
    if (use.inputs.size() != network.inputs.size()) {
      return problems_.add(layer.described(), fmt::format("is called on {} tensors and has {} inputs",
                                                          use.inputs.size(), network.inputs.size()));
    }
    const bool has_one_of_each = network.inputs.size() == 1 && network.outputs.size() == 1;
    if (here.is_over_time && (!has_one_of_each || makes_masks(*layer.config))) {
      return problems_.add(
          layer.described(),
          "in TimeDistributed: a model over time has one input and one output here, and makes no mask");
    }
    const std::string wanted = here.prefix + layer.name + here.outputs.suffix_of_call(layer.name, use.number);
    if (!here.is_over_time && has_one_of_each && !network.find(network.outputs[0].layer)->is_input()) {
      use_block(use, network, wanted, here);
    } else {
      add_inline(use, network, here.list.names.unique(wanted) + "_", here);
    }
  }

  /// Adds a use of the block that the network becomes. `wanted`: the use's name, unless another layer has it, or that
  /// of one of the block's layers, which has the use's name in front.
  void use_block(const Use& use, const Network& network, const std::string& wanted, const Here& here) {
    const auto first = here.outputs.first.find(use.layer.name);
    const Block& block = block_of(use, network, here);
    std::string name = here.list.names.unique(wanted);
    const auto is_taken = [&](const LayerOrigin& origin) { return here.list.names.is_taken(name + "_" + origin.name); };
    while (std::ranges::any_of(block.origins, is_taken)) name = here.list.names.unique(wanted);
    if (first != here.outputs.first.end()) {
      here.list.add("reuse", {{"layer", {}, config::text_value(first->second)}}, name, use.inputs);
    } else {
      here.list.add(block.name, {}, name, use.inputs);
      here.outputs.first[use.layer.name] = name;
      for (const LayerOrigin& origin : block.origins) {
        here.list.origins.push_back({name + "_" + origin.name, origin.group, origin.types});
      }
    }
    for (const LayerOrigin& origin : block.origins) here.list.names.take(name + "_" + origin.name);
    here.list.whole_names[name] = name + "_" + block.output;
    here.outputs.values[use.key()] = {name};
  }

  /// The masks of what a model is called on.
  static std::vector<MaskState> masks_of(const Use& use, const Here& around) {
    const auto found = around.masks->inputs_of_models.find(use.key());
    return found == around.masks->inputs_of_models.end() ? std::vector<MaskState>() : found->second;
  }

  const Block& block_of(const Use& use, const Network& network, const Here& around) {
    const NetworkLayer& layer = use.layer;
    const auto known = blocks_by_group_.find(layer.group);
    if (known != blocks_by_group_.end()) return known->second;
    LayerList list;
    OutputNames inside;
    inside.values[{network.inputs[0].layer, 0}] = {"input"};
    add_layers(network, {list, inside, "", around.level + 1, around.is_over_time}, masks_of(use, around));
    Block block;
    block.name = block_names_.unique(is_type(layer.name) ? layer.name + "_block" : layer.name);
    const auto& output = inside.values[{network.outputs[0].layer, network.outputs[0].call}];
    block.output = output.empty() ? "" : list.whole_name(output[0]);
    block.origins = std::move(list.origins);
    blocks_.push_back({block.name, {}, Value::mapping({{"layers", {}, Value::sequence(std::move(list.items))}})});
    return blocks_by_group_[layer.group] = std::move(block);
  }

  /// A network of several inputs or outputs, or over time: its layers, in the list around it, whose names get `prefix`.
  void add_inline(const Use& use, const Network& network, const std::string& prefix, const Here& around) {
    auto& inside = around.outputs.inside[use.layer.name];
    if (inside == nullptr) inside = std::make_shared<OutputNames>();
    inside->values.clear();
    for (std::size_t i = 0; i < use.inputs.size(); ++i) {
      inside->values[{network.inputs[i].layer, network.inputs[i].call}] = {use.inputs[i]};
    }
    add_layers(network, {around.list, *inside, prefix, around.level + 1, around.is_over_time}, masks_of(use, around));
    std::vector<std::string> outputs;
    for (const Tensor& output : network.outputs) {
      const auto& values = inside->values[{output.layer, output.call}];
      outputs.push_back(values.empty() ? "" : values[0]);
    }
    around.outputs.values[use.key()] = std::move(outputs);
  }

  static bool is_type(const std::string& name) {
    return name == "repeat" || type_named(schema_of<Layer>(), name) != nullptr;
  }

  // Outputs.

  void add_outputs(const Network& network, LayerList& list, OutputNames& names, ConvertedModel& result) {
    for (std::size_t i = 0; i < network.outputs.size(); ++i) {
      const Tensor& output = network.outputs[i];
      const auto& values = names.values[{output.layer, output.call}];
      std::string value = output.output < values.size() ? values[output.output] : "";
      const auto is_input = [&](const ConvertedInput& input) { return input.name == value; };
      if (std::ranges::any_of(result.inputs, is_input)) {
        const std::string name = list.names.unique(output.layer);
        list.add("identity", {}, name, {value});
        value = name;
      }
      if (i < unmasks_output_.size() && unmasks_output_[i]) value = list.add_unmasked(value);
      result.outputs.push_back(list.whole_name(value));
      result.output_names.emplace(output.layer, result.outputs.back());
      if (!network.output_keys.empty()) result.output_names.emplace(network.output_keys[i], result.outputs.back());
    }
    result.names_outputs =
        result.outputs.size() != 1 || (!list.items.empty() && result.outputs[0] != list.whole_name(list.last));
  }

  // What else is noticed.

  /// Of a wrapper, that of the layer within it, which computes.
  static std::string precision_of(const Json& config) {
    const auto within = as_object(at(config, "layer"));
    if (within && within->config->is_object()) {
      if (std::string name = precision_of(*within->config); !name.empty()) return name;
    }
    const Json& dtype = at(config, "dtype");
    return dtype.is_string() ? dtype.get<std::string>() : text_at(at(dtype, "config"), "name");
  }

  void note_precision(const NetworkLayer& layer) {
    const std::string name = precision_of(*layer.config);
    if (name == "mixed_bfloat16" && !layer.is_network()) in_bfloat16_.insert(layer.described());
    if (layer.is_operation() || layer.is_network()) return;
    if (name.empty() || name == "float32") in_float32_.insert(layer.described());
    if (name.empty() || name == "float32" || name == "mixed_bfloat16") return;
    problems_.add(layer.described(),
                  fmt::format("computes in {}; here there are float32 and mixed_bfloat16", shortened(name)));
  }

  /// A run has one precision: that of most layers.
  void set_precision(ConvertedModel& result) const {
    result.is_bfloat16 = in_bfloat16_.size() > in_float32_.size();
    const std::set<std::string>& others = result.is_bfloat16 ? in_float32_ : in_bfloat16_;
    if (others.empty()) return;
    const auto [here, there] =
        result.is_bfloat16 ? std::pair("mixed_bfloat16", "float32") : std::pair("float32", "mixed_bfloat16");
    result.warnings.push_back(
        fmt::format("{} computes in {} in Keras, and in {} here, where training.precision is that "
                    "of all layers{}",
                    shortened(fmt::format("{}", fmt::join(others, ", ")), 200), there, here,
                    result.is_bfloat16 ? "; float32 there is as exact as Keras, or more" : ""));
  }

  const Hdf5Contents& weights_;
  Problems& problems_;
  ChangedLayers changed_;
  std::vector<Value::Entry> blocks_;
  std::map<std::string, Block> blocks_by_group_;
  LayerNames block_names_;
  std::set<std::string> preprocessed_;              ///< inputs, and layers that became steps
  std::vector<std::string> called_in_a_mode_;       ///< layers
  std::set<std::string> in_bfloat16_, in_float32_;  ///< layers, described
  std::vector<bool> unmasks_output_;
  std::vector<std::string> with_lora_;  ///< layers
  bool has_masks_ = false;
  QueryMasks query_masks_ = QueryMasks::kUsed;  ///< of the whole model
};

}  // namespace

ConvertedModel convert_model(const Json& model, const Hdf5Contents& weights, Problems& problems) {
  return Converter(weights, problems).convert(model);
}

}  // namespace mirrortrain::keras
