#include <fmt/format.h>

#include <optional>
#include <utility>

#include "keras/writing/formula_operation.h"
#include "keras/writing/layers_writer.h"

namespace mirrortrain::keras {

bool LayersWriter::add_said_otherwise(std::size_t i, const std::string& where) {
  const Layer& layer = what_.model.layers[i].value;
  const auto* const dense = config::get_if<layers::Dense>(&layer);
  const auto* const wrapper = config::get_if<layers::TimeDistributed>(&layer);
  if (const auto* const flip = config::get_if<layers::Flip>(&layer)) {
    add_flip(i, *flip, where);
  } else if (config::holds_alternative<layers::ClassToken>(layer)) {
    add_class_token(i);
  } else if (config::holds_alternative<layers::PositionEmbedding>(layer)) {
    add_position_embedding(i, where);
  } else if (const auto* const expression = config::get_if<layers::Expression>(&layer)) {
    add_expression(i, *expression, where);
  } else if (wrapper != nullptr && config::holds_alternative<layers::Expression>(wrapper->layer)) {
    problems_.add(where, "of a formula, which is nothing that Keras saves; write it with layers");
  } else if (dense != nullptr && dense->tied_to) {
    add_tied(i, *dense, where);
  } else {
    return false;
  }
  return true;
}

/// `x` alone ends a mask, as a reshape in Keras does.
void LayersWriter::add_expression(std::size_t i, const layers::Expression& expression, const std::string& where) {
  const std::string& name = what_.wiring.names[i];
  const bool has_one_input = what_.wiring.sources[i].size() == 1;
  const WrittenTensor input = source(what_.wiring.sources[i][0]);
  if (has_one_input && expression.is_input()) {
    values_[i] = without_mask(input, name, shapes_[name]);
    return;
  }
  const auto operation = has_one_input ? operation_of(expression.formula, input.shape.size()) : std::nullopt;
  if (!operation) {
    return problems_.add(
        where,
        "a formula is nothing that Keras saves, but for a part of one input, as x[0], and a mean, sum, "
        "max or min of one; write it with layers, or export to another format");
  }
  Json arguments = Json::array({GraphWriter::tensor_json(input)});
  if (operation->key) arguments.push_back(*operation->key);
  values_[i] =
      graph_.add_operation(operation->class_name, name, operation->config, std::move(arguments), shapes_[name]);
}

void LayersWriter::add_flip(std::size_t i, const layers::Flip& flip, const std::string& where) {
  if (has_masks()) problems_.add(where, "Keras has no layer that reverses a sequence with its mask");
  const std::string& name = what_.wiring.names[i];
  values_[i] = graph_.add_operation("Flip", name, {{"axis", flip.axis}}, arguments_of("flip", i), shapes_[name]);
}

/// Zeros of a value's shape.
WrittenTensor LayersWriter::zeros_of(const WrittenTensor& value, const std::string& name, const Shape& shape) {
  return graph_.add("Rescaling", graph_.names().unique(name + "_zeros"), {{"scale", 0.0}, {"offset", 0.0}},
                    Json::array({GraphWriter::tensor_json(value)}), shape);
}

/// The first step, times 0, through a dense layer whose bias is the token; in front of the sequence.
void LayersWriter::add_class_token(std::size_t i) {
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
  weights_.add_zero_kernel(dense, channels, name + "/token", {channels});
  values_[i] = graph_.add(
      "Concatenate", name, {{"axis", 1}},
      Json::array({Json::array({GraphWriter::tensor_json(token), GraphWriter::tensor_json(sequence)})}), shape);
}

/// Zeros through a layer whose bias has a vector for each position; added to the sequence.
void LayersWriter::add_position_embedding(std::size_t i, const std::string& where) {
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
  weights_.add_zero_kernel(positions, shape[1], name + "/embeddings", table.shape);
  values_[i] = graph_.add(
      "Add", name, Json::object(),
      Json::array({Json::array({GraphWriter::tensor_json(sequence), GraphWriter::tensor_json(vectors)})}), shape);
}

void LayersWriter::add_tied(std::size_t i, const layers::Dense& dense, const std::string& where) {
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

}  // namespace mirrortrain::keras
