#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "keras/json.h"
#include "keras/layer_names.h"
#include "keras/layer_order.h"

namespace mirrortrain::keras {

/// A tensor of the model that is being written.
struct WrittenTensor {
  std::string layer;
  std::size_t call = 0;
  std::vector<std::optional<std::int64_t>> shape;  ///< of an example; nullopt: any extent
  std::string dtype = "float32";
};

std::vector<std::optional<std::int64_t>> extents_of(const Shape& shape);

/// The layers of a functional model, as its config lists them.
class GraphWriter {
 public:
  explicit GraphWriter(bool is_bfloat16) : is_bfloat16_(is_bfloat16) {}

  LayerNames& names() { return names_; }

  WrittenTensor add_input(const std::string& name, const std::vector<std::optional<std::int64_t>>& shape,
                          const std::string& dtype = "float32");
  /// Adds a layer and its first call. `arguments`: a list, with tensors as tensor_json() makes them.
  WrittenTensor add(std::string_view class_name, const std::string& name, Json config, Json arguments,
                    const Shape& shape, Json options = Json::object());
  /// The same of an operation of keras.ops.
  WrittenTensor add_operation(std::string_view class_name, const std::string& name, Json config, Json arguments,
                              const Shape& shape);
  /// One more call of a layer that was added.
  WrittenTensor call(const std::string& layer, Json arguments, const Shape& shape, Json options = Json::object());

  /// The layer, or the input, has another name in config(), which nothing else has.
  void rename(const std::string& layer, std::string name) { renamed_[layer] = std::move(name); }

  /// A layer, and the group of its weights in model.weights.h5.
  struct LayerGroup {
    std::string layer, group;
  };
  /// Those of a model with these outputs, in the order in which Keras has them.
  std::vector<LayerGroup> groups(const std::vector<WrittenTensor>& outputs) const;

  /// The config of the model.
  Json config(const std::string& name, const std::vector<WrittenTensor>& inputs,
              const std::vector<WrittenTensor>& outputs) const;

  static Json tensor_json(const WrittenTensor& tensor);

 private:
  WrittenTensor add_entry(Json entry, const std::string& name, Json arguments, const Shape& shape, Json options);

  bool is_bfloat16_;
  LayerNames names_;
  Json layers_ = Json::array();
  std::map<std::string, std::size_t> numbers_;  ///< of layers, in layers_
  std::map<std::string, std::string> types_;    ///< of layers: their classes as groups are called; not of operations
  LayerCalls calls_;
  std::map<std::string, std::string> renamed_;
};

}  // namespace mirrortrain::keras
