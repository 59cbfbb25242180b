#include "keras/write_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "config/scalar.h"
#include "keras/class_names.h"
#include "keras/options.h"
#include "keras/to_json.h"
#include "keras/weight_paths.h"
#include "keras/write_columns.h"
#include "keras/write_masks.h"

namespace mirrortrain::keras {
namespace {

using config::Value;

StoredTensor float_tensor(const Shape& shape, const std::vector<float>& values) {
  StoredTensor tensor{DType::kFloat32, shape, {}};
  const auto bytes = std::as_bytes(std::span(values));
  tensor.data.assign(bytes.begin(), bytes.end());
  return tensor;
}

/// The types of a layer and of that inside of a wrapper.
std::vector<std::string> types_of(const Layer& layer) {
  return config::visit(
      [](const auto& options) {
        std::vector<std::string> types = {std::string(options.kName)};
        if constexpr (requires { options.layer.index(); }) {
          config::visit([&](const auto& inner) { types.emplace_back(inner.kName); }, options.layer);
        }
        return types;
      },
      layer);
}

std::string type_of(const data::PreprocessingStep& step) {
  return config::visit([](const auto& held) { return std::string(held.kName); }, step);
}

/// The class of Keras's for a step that acts at every split; "" for one that is random, or of labels.
std::string class_of(const data::PreprocessingStep& step) { return class_named(type_of(step)); }

class LayersWriter {
 public:
  LayersWriter(const KerasExport& what, Problems& problems, std::vector<std::string>& remarks)
      : what_(what), problems_(problems), remarks_(remarks), graph_(what.precision != Precision::kFloat32) {
    for (const LayerSummary& layer : what.built.layers) shapes_[layer.name] = layer.output_shape;
    for (const std::string& name : what.wiring.names) graph_.names().take(name);
    masked_ = layers_with_masks(what, shapes_);
    for (const auto& layer : what.model.layers) {
      const auto* const dense = config::get_if<layers::Dense>(&layer.value);
      if (dense != nullptr && dense->tied_to) tied_.insert(*dense->tied_to);
    }
  }

  WrittenModel write() {
    add_inputs();
    keep_clear_of_mask_operations();
    const Wiring& wiring = what_.wiring;
    for (std::size_t i = 0; i < what_.model.layers.size(); ++i) {
      values_.push_back({});
      if (!wiring.used[i]) {
        remarks_.push_back(fmt::format("the layer '{}' was left out, as no output depends on it", wiring.names[i]));
        continue;
      }
      add_layer(i);
    }
    std::vector<WrittenTensor> outputs;
    for (const std::size_t output : wiring.outputs) outputs.push_back(values_[output]);
    WrittenModel model{graph_.config(what_.name, inputs_, outputs), {}, {}, {}};
    if (problems_.empty()) place_weights(graph_.groups(outputs), model);
    return model;
  }

 private:
  // Inputs.

  void add_inputs() {
    std::optional<ColumnsWriter> columns;
    if (what_.table != nullptr && changes_cells(*what_.table)) columns.emplace(graph_, *what_.table, remarks_);
    for (const ModelInputOptions& input : what_.model.all_inputs()) {
      std::vector<data::PreprocessingStep> steps = data::steps_of_input(what_.preprocessing, input.name);
      std::erase_if(steps, [](const auto& step) { return class_of(step).empty(); });
      const data::TableInput* const table = columns ? what_.table->find_input(input.name) : nullptr;
      const bool is_of_columns = table != nullptr && std::holds_alternative<data::TableInput::Numbers>(table->content);
      WrittenTensor value = is_of_columns ? columns->write(*table, input.shape) : add_input(input, steps);
      for (const data::PreprocessingStep& step : steps) value = add_step(step, value, input);
      sources_.push_back(value);
    }
    if (columns) inputs_.insert(inputs_.end(), columns->inputs().begin(), columns->inputs().end());
  }

  WrittenTensor add_input(const ModelInputOptions& input, const std::vector<data::PreprocessingStep>& steps) {
    const bool is_known = sources_.size() < what_.example_shapes.size() && !steps.empty();
    auto shape = extents_of(is_known ? what_.example_shapes[sources_.size()] : input.shape);
    for (const data::PreprocessingStep& step : steps) {
      if (config::holds_alternative<data::Resizing>(step) || config::holds_alternative<data::CenterCrop>(step)) {
        if (shape.size() >= 2 && !is_known) shape[0] = shape[1] = std::nullopt;  // pictures of any size
      }
      const data::Binning* const bins = data::as_binning(step);
      if (bins != nullptr && !is_known && bins->output_mode != data::BinOutput::kInt) {
        problems_.add("data.preprocessing",
                      "an output_mode but int changes the shape of examples, as the model's input does "
                      "not say; write the model without preprocessing");
      }
    }
    const std::string name = graph_.names().unique(input.name == "input" ? "inputs" : input.name);
    const bool is_hashed = !steps.empty() && config::holds_alternative<data::Hashing>(steps.front());
    inputs_.push_back(graph_.add_input(input.name == "input" ? "input" : name, shape, is_hashed ? "int64" : "float32"));
    return inputs_.back();
  }

  WrittenTensor add_step(const data::PreprocessingStep& step, const WrittenTensor& value,
                         const ModelInputOptions& input) {
    const config::Schema& schema = schema_of<data::PreprocessingStep>();
    const Value shown = config::Codec<data::PreprocessingStep>::show(step);
    const std::string type = type_of(step);
    const auto part = std::ranges::find(schema.parts, type, &config::Schema::name);
    Json config = shown.is_scalar()
                      ? Json::object()
                      : options_json(shown.entries().front().value, *part, fmt::format("data.preprocessing: {}", type),
                                     problems_, {"input", "adapt"});
    config["dtype"] = "float32";  // in whatever precision the layers compute
    if (config::holds_alternative<data::Hashing>(step)) {
      if (data::as_binning(step)->output_mode == data::BinOutput::kInt) config["dtype"] = "int64";
      if (value.dtype != "int64") {
        problems_.add(
            "data.preprocessing: hashing",
            "of numbers that other steps, or columns of a table, make: Keras hashes whole numbers of an input; "
            "make it the first step, or write the model without preprocessing");
      }
    }
    if (type == "rescaling" && !config.contains("offset")) config["offset"] = 0.0;  // which Keras reads, default or not
    return graph_.add(class_of(step), graph_.names().unique(fmt::format("{}_{}", input.name, type)), std::move(config),
                      Json::array({GraphWriter::tensor_json(value)}), input.shape);
  }

  // Masks.

  /// Keras joins masks by operations when it loads the model, which take their names without a look at those of layers.
  void keep_clear_of_mask_operations() {
    if (std::ranges::count(masked_, true) == 0) return;
    for (const std::string& name : what_.wiring.names) {
      if (!is_name_of_mask_operation(name)) continue;
      const std::string other = graph_.names().unique(name + "_layer");
      graph_.rename(name, other);
      remarks_.push_back(
          fmt::format("the layer '{}' is called '{}' there, as Keras calls an operation on masks so", name, other));
    }
  }

  bool is_masked(int source) const { return !what_.wiring.is_input(source) && masked_[what_.wiring.layer_of(source)]; }
  bool reads_mask(std::size_t layer) const {
    return std::ranges::any_of(what_.wiring.sources[layer], [&](int source) { return is_masked(source); });
  }

  /// The same numbers with the mask, in a tensor of its own: MultiHeadAttention takes the mask off what it reads, so
  /// that nothing that reads it later would see one.
  WrittenTensor copy_with_mask(int number) {
    WrittenTensor& copy = copies_[number];
    if (!copy.layer.empty()) return copy;
    const WrittenTensor from = source(number);
    const std::string name = graph_.names().unique(from.layer + "_with_mask");
    copy =
        graph_.add("Rescaling", name, {{"scale", 1.0}, {"offset", 0.0}}, Json::array({GraphWriter::tensor_json(from)}),
                   shapes_[what_.wiring.names[what_.wiring.layer_of(number)]]);
    return copy;
  }

  /// The same numbers without the mask, which Keras's Reshape does not hand on.
  WrittenTensor without_mask(const WrittenTensor& value, const std::string& name, const Shape& shape) {
    return graph_.add("Reshape", name, {{"target_shape", shape.dims()}}, Json::array({GraphWriter::tensor_json(value)}),
                      shape);
  }

  // Layers.

  WrittenTensor source(int number) const {
    return what_.wiring.is_input(number) ? sources_[static_cast<std::size_t>(number)]
                                         : values_[what_.wiring.layer_of(number)];
  }

  /// What a layer of this type is called on.
  Json arguments_of(const std::string& type, std::size_t layer) {
    Json tensors = Json::array();
    for (const int number : what_.wiring.sources[layer]) {
      const bool is_taken_off = type == "multi_head_attention" && is_masked(number);
      tensors.push_back(GraphWriter::tensor_json(is_taken_off ? copy_with_mask(number) : source(number)));
    }
    const bool is_projected = type == "multi_head_attention" || type == "group_query_attention";
    if (is_projected && tensors.size() == 1) tensors.push_back(tensors[0]);
    constexpr std::array kOfLists = {"add",     "subtract",    "multiply", "average",   "maximum",
                                     "minimum", "concatenate", "dot",      "attention", "additive_attention"};
    return std::ranges::count(kOfLists, type) > 0 ? Json::array({std::move(tensors)}) : tensors;
  }

  static Json call_options_of(const Layer& layer) {
    return config::visit(
        [](const auto& options) -> Json {
          if constexpr (requires { options.use_causal_mask; }) {
            if (options.use_causal_mask) return {{"use_causal_mask", true}};
          }
          return Json::object();
        },
        layer);
  }

  void add_layer(std::size_t i) {
    const std::string& name = what_.wiring.names[i];
    const Layer& layer = what_.model.layers[i].value;
    const std::string where = fmt::format("layer '{}' ({})", name, type_name(layer));
    const std::size_t owner = what_.wiring.weights_of[i];
    if (owner != i) return add_reuse(i, owner, where);
    if (const auto* const flip = config::get_if<layers::Flip>(&layer)) return add_flip(i, *flip, where);
    if (config::holds_alternative<layers::ClassToken>(layer)) return add_class_token(i);
    if (config::holds_alternative<layers::PositionEmbedding>(layer)) return add_position_embedding(i, where);
    if (const auto* const expression = config::get_if<layers::Expression>(&layer)) {
      if (without_outer_spaces(expression->formula) == "x" && what_.wiring.sources[i].size() == 1) {
        values_[i] = without_mask(source(what_.wiring.sources[i][0]), name, shapes_[name]);
        return;
      }
      return problems_.add(where,
                           "a formula is nothing that Keras saves; write it with layers, or export to another format");
    }
    if (const auto* const wrapper = config::get_if<layers::TimeDistributed>(&layer);
        wrapper != nullptr && config::holds_alternative<layers::Expression>(wrapper->layer)) {
      return problems_.add(where, "of a formula, which is nothing that Keras saves; write it with layers");
    }
    const auto* const dense = config::get_if<layers::Dense>(&layer);
    if (dense != nullptr && dense->tied_to) return add_tied(i, *dense, where);
    refuse_reversed_mask(i, layer, where);
    const std::vector<std::string> types = written_types(layer, name);
    values_[i] = graph_.add(class_named(types.front()), name, config_of(layer, name, where),
                            arguments_of(types.front(), i), shapes_[name], call_options_of(layer));
    add_weights(name, types);
  }

  /// An embedding that a dense layer is tied to is a reversible one there.
  std::vector<std::string> written_types(const Layer& layer, const std::string& name) const {
    std::vector<std::string> types = types_of(layer);
    if (types.front() == "embedding" && tied_.contains(name)) types.front() = "reversible_embedding";
    return types;
  }

  Json config_of(const Layer& layer, const std::string& name, const std::string& where) {
    const Value shown = config::Codec<Layer>::show(layer);
    const std::string type(type_name(layer));
    const auto part = std::ranges::find(schema_of<Layer>().parts, type, &config::Schema::name);
    const Value& options = shown.entries().front().value;
    for (const char* const key : {"lora_rank", "tied_to", "rope_max_wavelength"}) {
      const Value::Entry* const given = options.find(key);
      if (given != nullptr && !given->value.is_null())
        problems_.add(where, fmt::format("{} is nothing that Keras saves", key));
    }
    Json config = options_json(options, *part, where, problems_,
                               {"name", "inputs", "use_causal_mask", "trainable", "lora_rank", "lora_alpha", "tied_to",
                                "rope_max_wavelength"});
    if (type.starts_with("average_pooling")) {  // which Keras requires
      const auto key = std::ranges::find(part->keys, "pool_size", &config::Schema::Key::name);
      config["pool_size"] = to_json(options.find("pool_size")->value, key->type, where, problems_);
    }
    const bool is_frozen = !common_options(layer).trainable || what_.model.freezes(name);
    const bool has_weights = what_.weights.lower_bound(name + "/") != what_.weights.lower_bound(name + "0");
    if (is_frozen && has_weights) config["trainable"] = false;
    return config;
  }

  void add_reuse(std::size_t i, std::size_t owner, const std::string& where) {
    const Layer& layer = what_.model.layers[owner].value;
    const std::string& name = what_.wiring.names[owner];
    const auto* const reuse = config::get_if<layers::Reuse>(&what_.model.layers[i].value);
    const bool is_said_otherwise = config::holds_alternative<layers::ClassToken>(layer) ||
                                   config::holds_alternative<layers::PositionEmbedding>(layer) ||
                                   config::holds_alternative<layers::Flip>(layer);
    if (is_said_otherwise) {
      return problems_.add(where, "reuses a layer that Keras has not; write it once more, with weights of its own");
    }
    if (config::holds_alternative<layers::Expression>(layer)) return;  // reported at its own place
    Json options = call_options_of(layer);
    if (reuse != nullptr && reuse->reverse) options["reverse"] = true;
    values_[i] = graph_.call(name, arguments_of(written_types(layer, name).front(), i), shapes_[what_.wiring.names[i]],
                             std::move(options));
  }

  /// Steps from the last to the first, whose mask Keras leaves as it is.
  void refuse_reversed_mask(std::size_t i, const Layer& layer, const std::string& where) {
    const bool reverses = config::visit(
        [](const auto& options) {
          if constexpr (requires { options.go_backwards&& options.return_sequences; }) {
            return options.go_backwards && options.return_sequences;
          }
          return false;
        },
        layer);
    if (!reverses || !reads_mask(i)) return;
    problems_.add(where,
                  "go_backwards with return_sequences: Keras leaves the mask of the padding as it is, out of step with "
                  "the steps; train with bidirectional, or without mask_zero");
  }

  // What Keras says with other layers.

  bool has_masks() const {
    return std::ranges::any_of(what_.model.layers, [](const auto& layer) {
      const auto* const embedding = embedding_of(layer.value);
      return (embedding != nullptr && embedding->mask_zero) ||
             config::holds_alternative<layers::MaskByValue>(layer.value);
    });
  }

  void add_flip(std::size_t i, const layers::Flip& flip, const std::string& where) {
    if (has_masks()) problems_.add(where, "Keras has no layer that reverses a sequence with its mask");
    const std::string& name = what_.wiring.names[i];
    values_[i] = graph_.add_operation("Flip", name, {{"axis", flip.axis}}, arguments_of("flip", i), shapes_[name]);
  }

  /// Zeros of a value's shape.
  WrittenTensor zeros_of(const WrittenTensor& value, const std::string& name, const Shape& shape) {
    return graph_.add("Rescaling", graph_.names().unique(name + "_zeros"), {{"scale", 0.0}, {"offset", 0.0}},
                      Json::array({GraphWriter::tensor_json(value)}), shape);
  }

  /// The first step, times 0, through a dense layer whose bias is the token; in front of the sequence.
  void add_class_token(std::size_t i) {
    const std::string& name = what_.wiring.names[i];
    const Shape& shape = shapes_[name];  // [1 + steps, channels]
    const std::int64_t steps = shape[0] - 1, channels = shape[1];
    WrittenTensor sequence = source(what_.wiring.sources[i][0]);
    if (reads_mask(i)) {
      sequence = without_mask(sequence, graph_.names().unique(name + "_unmasked"), {steps, channels});
    }
    const WrittenTensor first =
        graph_.add("Cropping1D", graph_.names().unique(name + "_first"), {{"cropping", Json::array({0, steps - 1})}},
                   Json::array({GraphWriter::tensor_json(sequence)}), {1, channels});
    const WrittenTensor zeros = zeros_of(first, name, {1, channels});
    const std::string dense = graph_.names().unique(name + "_token");
    const WrittenTensor token = graph_.add("Dense", dense, {{"units", channels}, {"trainable", trains(i)}},
                                           Json::array({GraphWriter::tensor_json(zeros)}), {1, channels});
    add_zero_kernel(dense, channels, name + "/token", {channels});
    values_[i] = graph_.add(
        "Concatenate", name, {{"axis", 1}},
        Json::array({Json::array({GraphWriter::tensor_json(token), GraphWriter::tensor_json(sequence)})}), shape);
  }

  /// Zeros through a layer whose bias has a vector for each position; added to the sequence.
  void add_position_embedding(std::size_t i, const std::string& where) {
    const std::string& name = what_.wiring.names[i];
    const Shape& shape = shapes_[name];
    if (reads_mask(i)) {
      problems_.add(where, "of a sequence with a mask: the layers with which Keras says it lose the mask");
    }
    const StoredTensor& table = what_.weights.at(name + "/embeddings");
    if (table.shape[0] != shape[0]) {
      return problems_.add(where,
                           fmt::format("sequence_length is {}, and sequences have {} steps; Keras says this layer with "
                                       "weights for these alone",
                                       table.shape[0], shape[0]));
    }
    const WrittenTensor sequence = source(what_.wiring.sources[i][0]);
    const WrittenTensor zeros = zeros_of(sequence, name, shape);
    const std::string positions = graph_.names().unique(name + "_positions");
    const WrittenTensor vectors = graph_.add("EinsumDense", positions,
                                             {{"equation", "abc,cd->abd"},
                                              {"output_shape", Json::array({shape[0], shape[1]})},
                                              {"bias_axes", "bd"},
                                              {"trainable", trains(i)}},
                                             Json::array({GraphWriter::tensor_json(zeros)}), shape);
    add_zero_kernel(positions, shape[1], name + "/embeddings", table.shape);
    values_[i] = graph_.add(
        "Add", name, Json::object(),
        Json::array({Json::array({GraphWriter::tensor_json(sequence), GraphWriter::tensor_json(vectors)})}), shape);
  }

  void add_tied(std::size_t i, const layers::Dense& dense, const std::string& where) {
    const std::string& name = what_.wiring.names[i];
    if (dense.use_bias) {
      return problems_.add(where, "tied_to: Keras's embedding in reverse has no bias; train with use_bias: false");
    }
    if (reads_mask(i)) {
      problems_.add(where,
                    "tied_to: of a sequence with a mask, which Keras's embedding in reverse loses; train without "
                    "mask_zero, or without tied_to");
    }
    const WrittenTensor logits =
        graph_.call(*dense.tied_to, arguments_of("dense", i), shapes_[name], {{"reverse", true}});
    const std::string activation(name_of(dense.activation));
    values_[i] = graph_.add("Activation", name, {{"activation", activation}},
                            Json::array({GraphWriter::tensor_json(logits)}), shapes_[name]);
  }

  bool trains(std::size_t i) const {
    return common_options(what_.model.layers[i].value).trainable && !what_.model.freezes(what_.wiring.names[i]);
  }

  // Weights.

  /// A kernel of zeros, which what is multiplied by zeros does not change, and a bias, a variable of this name.
  void add_zero_kernel(const std::string& layer, std::int64_t channels, const std::string& variable, Shape shape) {
    const std::vector<float> zeros(static_cast<std::size_t>(channels * channels));
    StoredTensor bias{DType::kFloat32, std::move(shape), what_.weights.at(variable).data};
    weights_[layer] = {{"vars/0", "", float_tensor({channels, channels}, zeros)},
                       {"vars/1", variable, std::move(bias)}};
  }

  void add_weights(const std::string& layer, const std::vector<std::string>& types) {
    std::vector<std::string> variables;
    const std::string prefix = layer + "/";
    for (auto at = what_.weights.lower_bound(prefix); at != what_.weights.end() && at->first.starts_with(prefix);
         ++at) {
      variables.push_back(at->first.substr(prefix.size()));
    }
    for (WeightPath& weight : weight_paths(types, variables)) {
      const std::string variable = prefix + weight.variable;
      weights_[layer].push_back({std::move(weight.path), variable, what_.weights.at(variable)});
    }
  }

  /// Of a layer in Keras, what trains: a variable of the model that does, once, or zeros beside one.
  void add_trainable(const std::vector<WrittenWeight>& weights, WrittenModel& model) const {
    std::set<std::string> listed;
    for (const WrittenWeight& weight : weights) {
      const std::string& name = weight.variable.empty() ? weights.back().variable : weight.variable;
      const auto variable = std::ranges::find(what_.built.variables, name,
                                              [](const auto& one) -> const std::string& { return one.spec.name; });
      if (variable == what_.built.variables.end() || !variable->spec.trainable) continue;
      if (listed.insert(weight.variable).second) model.trainable.push_back({weight.variable, weight.value.shape});
    }
  }

  void place_weights(const std::vector<GraphWriter::LayerGroup>& groups, WrittenModel& model) {
    for (const auto& [layer, group] : groups) {
      const auto found = weights_.find(layer);
      if (found == weights_.end()) continue;
      model.names[group + "/vars"] = layer;
      add_trainable(found->second, model);
      for (WrittenWeight& weight : found->second) {
        model.weights[fmt::format("{}/{}", group, weight.path)] = std::move(weight.value);
      }
    }
  }

  const KerasExport& what_;
  Problems& problems_;
  std::vector<std::string>& remarks_;
  GraphWriter graph_;
  std::map<std::string, Shape> shapes_;  ///< of the layers' outputs
  std::vector<bool> masked_;             ///< whether the layers' outputs may carry masks
  std::map<int, WrittenTensor> copies_;  ///< see copy_with_mask(), by sources
  std::set<std::string> tied_;           ///< embeddings that dense layers are tied to
  std::vector<WrittenTensor> inputs_, sources_, values_;
  std::map<std::string, std::vector<WrittenWeight>> weights_;  ///< by layer
};

}  // namespace

WrittenModel write_layers(const KerasExport& what, Problems& problems, std::vector<std::string>& remarks) {
  return LayersWriter(what, problems, remarks).write();
}

}  // namespace mirrortrain::keras
