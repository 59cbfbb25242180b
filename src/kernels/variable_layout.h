#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "base/shape.h"
#include "graph/graph.h"

namespace mirrortrain {

/// How a backend keeps a variable in its devices' memory where that is not as files have it, the canonical layout: the
/// last axis first, as OHWI for a convolution's kernel [height, width, in, out].
struct VariableLayout {
  Shape canonical;  ///< the shape whose last axis comes first; the variable's own may join or split its axes

  // Reorder a variable's elements, its gradient's or a slot's in place.
  void from_canonical(float* elements) const;
  void to_canonical(float* elements) const;

  /// How many of the last axes of `shape`, which has the same elements, come first. Throws Error where these are not
  /// whole axes.
  std::size_t axes_in_front(const Shape& shape) const;
};

/// By number of the variable; absent: canonical.
using VariableLayouts = std::map<std::size_t, VariableLayout>;

/// A graph and its values for the model's variables, in their order.
struct GraphVariables {
  const Graph& graph;
  std::span<const ValueId> variables;
};

/// The kernels of convolutions with output channels first. Throws Error where another op reads one too, or where a
/// convolution's kernel is not a variable.
VariableLayouts filters_out_first(std::span<const GraphVariables> graphs);

}  // namespace mirrortrain
