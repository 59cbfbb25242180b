#include <fmt/format.h>

#include <algorithm>

#include "keras/writing/layers_writer.h"
#include "keras/writing/write_masks.h"

namespace mirrortrain::keras {

/// Keras joins masks by operations when it loads the model, which take their names without a look at those of layers.
void LayersWriter::keep_clear_of_mask_operations() {
  if (std::ranges::count(masked_, true) == 0) return;
  for (const std::string& name : what_.wiring.names) {
    if (!is_name_of_mask_operation(name)) continue;
    const std::string other = graph_.names().unique(name + "_layer");
    graph_.rename(name, other);
    remarks_.push_back(
        fmt::format("the layer '{}' is called '{}' there, as Keras calls an operation on masks so", name, other));
  }
}

bool LayersWriter::is_masked(int source) const {
  return !what_.wiring.is_input(source) && masked_[what_.wiring.layer_of(source)];
}

bool LayersWriter::reads_mask(std::size_t layer) const {
  return std::ranges::any_of(what_.wiring.sources[layer], [&](int source) { return is_masked(source); });
}

/// The same numbers with the mask, in a tensor of its own: MultiHeadAttention takes the mask off what it reads, so
/// that nothing that reads it later would see one.
WrittenTensor LayersWriter::copy_with_mask(int number) {
  WrittenTensor& copy = copies_[number];
  if (!copy.layer.empty()) return copy;
  const WrittenTensor from = source(number);
  const std::string name = graph_.names().unique(from.layer + "_with_mask");
  copy = graph_.add("Rescaling", name, {{"scale", 1.0}, {"offset", 0.0}}, Json::array({GraphWriter::tensor_json(from)}),
                    shapes_[what_.wiring.names[what_.wiring.layer_of(number)]]);
  return copy;
}

/// The same numbers without the mask, which Keras's Reshape does not hand on.
WrittenTensor LayersWriter::without_mask(const WrittenTensor& value, const std::string& name, const Shape& shape) {
  return graph_.add("Reshape", name, {{"target_shape", shape.dims()}}, Json::array({GraphWriter::tensor_json(value)}),
                    shape);
}

bool LayersWriter::has_masks() const {
  return std::ranges::any_of(what_.model.layers, [](const auto& layer) {
    const auto* const embedding = embedding_of(layer.value);
    return (embedding != nullptr && embedding->mask_zero) ||
           config::holds_alternative<layers::MaskByValue>(layer.value);
  });
}

/// Steps from the last to the first, whose mask Keras leaves as it is.
void LayersWriter::refuse_reversed_mask(std::size_t i, const Layer& layer, const std::string& where) {
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

/// A query's mask that goes on unused: Keras's attention has it, or the output does not.
void LayersWriter::refuse_unused_mask(std::size_t i, const Layer& layer, const std::string& where) {
  const bool uses = config::visit(
      [](const auto& options) {
        if constexpr (requires { options.use_query_mask; }) return options.use_query_mask;
        return true;
      },
      layer);
  if (uses || !is_masked(what_.wiring.sources[i][0])) return;
  problems_.add(where, "use_query_mask: false is nothing that Keras saves; leave it out, or export to another format");
}

}  // namespace mirrortrain::keras
