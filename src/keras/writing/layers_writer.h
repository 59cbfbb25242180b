#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "keras/writing/graph_writer.h"
#include "keras/writing/layer_weights.h"
#include "keras/writing/write_layers.h"

namespace mirrortrain::keras {

/// Writes one layer after the other, with its weights.
class LayersWriter {
 public:
  LayersWriter(const KerasExport& what, Problems& problems, std::vector<std::string>& remarks);

  WrittenModel write();

 private:
  // Masks.

  void keep_clear_of_mask_operations();
  bool is_masked(int source) const;
  bool reads_mask(std::size_t layer) const;
  WrittenTensor copy_with_mask(int number);
  WrittenTensor without_mask(const WrittenTensor& value, const std::string& name, const Shape& shape);
  bool has_masks() const;
  void refuse_reversed_mask(std::size_t i, const Layer& layer, const std::string& where);
  void refuse_unused_mask(std::size_t i, const Layer& layer, const std::string& where);

  // Layers. `i`: their number in the model, `where`: how messages call them.

  WrittenTensor source(int number) const;
  Json arguments_of(const std::string& type, std::size_t layer);
  std::vector<std::string> written_types(const Layer& layer, const std::string& name) const;
  Json config_of(const Layer& layer, const std::string& name, const std::string& where);
  bool trains(std::size_t i) const;
  void add_layer(std::size_t i);
  void add_reuse(std::size_t i, std::size_t owner, const std::string& where);

  // What Keras says with other layers, in layers_said_otherwise.cpp.

  /// Adds such a layer, and says whether it is one.
  bool add_said_otherwise(std::size_t i, const std::string& where);
  WrittenTensor zeros_of(const WrittenTensor& value, const std::string& name, const Shape& shape);
  void add_expression(std::size_t i, const layers::Expression& expression, const std::string& where);
  void add_flip(std::size_t i, const layers::Flip& flip, const std::string& where);
  void add_class_token(std::size_t i);
  void add_position_embedding(std::size_t i, const std::string& where);
  void add_tied(std::size_t i, const layers::Dense& dense, const std::string& where);

  const KerasExport& what_;
  Problems& problems_;
  std::vector<std::string>& remarks_;
  GraphWriter graph_;
  LayerWeights weights_;
  std::map<std::string, Shape> shapes_;          ///< of the layers' outputs
  std::vector<bool> masked_;                     ///< whether the layers' outputs may carry masks
  std::map<int, WrittenTensor> copies_;          ///< see copy_with_mask(), by sources
  std::set<std::string> tied_;                   ///< embeddings that dense layers are tied to
  std::vector<WrittenTensor> sources_, values_;  ///< what the model's inputs and its layers give
};

}  // namespace mirrortrain::keras
