#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::keras {

/// A variable of a layer with where Keras's weights files have it.
struct WeightPath {
  std::string variable;  ///< without the layer's name: "forward/kernel"
  std::string path;      ///< below the layer's group: "forward_layer/cell/vars/0"

  friend bool operator==(const WeightPath&, const WeightPath&) = default;
};

/// Where the variables of a layer are, in the order of Keras's `layer.weights`. `type`: the layer's here, "lstm", and
/// those of the layers inside of wrappers, outermost first: {"time_distributed", "dense"}. `variables`: those that the
/// layer has, without its name. A weight that two objects of Keras share, as a kernel that is normalized, has a path
/// for each.
std::vector<WeightPath> weight_paths(const std::vector<std::string>& types, const std::vector<std::string>& variables);

/// The name that Keras's files give a group of a layer, before they are counted: "conv2d" for "Conv2D", "p_re_lu" for
/// "PReLU".
std::string snake_case(std::string_view class_name);

}  // namespace mirrortrain::keras
