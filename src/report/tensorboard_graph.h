#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"

namespace mirrortrain::report {

/// An input or a layer of a model, as TensorBoard's graph shows it.
struct ModelNode {
  std::string name, type;           ///< "conv2d_1", "conv2d"; `/` in a name makes groups
  std::vector<std::string> inputs;  ///< names of other nodes
  Shape output_shape;               ///< of an example
  std::int64_t parameters = 0;
};

/// TensorFlow's GraphDef message of the nodes, with `_output_shapes` whose first, unknown size is the batch's.
std::string tensorboard_graph(std::span<const ModelNode> nodes);

}  // namespace mirrortrain::report
