#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/safetensors.h"
#include "keras/convert_model.h"

namespace mirrortrain::keras {

/// A variable of the model.
struct VariableShape {
  std::string name;
  Shape shape;
};

/// The weights of a file by the names of the model's variables; what no variable takes keeps its path. `origins`: of the
/// model's layers. Weights of another shape are taken too, for whoever reads them to report.
StoredTensors named_weights(Hdf5Contents weights, const std::vector<LayerOrigin>& origins,
                            const std::vector<VariableShape>& variables);

/// The layers of a serialized model with their weights' groups, whether or not all of it exists here. Layers within
/// another model have its name in front: "tower_dense".
std::vector<LayerOrigin> origins_in(const Json& model);
/// The same of a .weights.h5, whose groups say the layers' names, or else their types'.
std::vector<LayerOrigin> origins_in(const Hdf5Contents& weights);

/// Whether a path is that of a weight of a layer, rather than of an optimizer or a generator of random numbers.
bool is_of_layer(const std::string& path);

}  // namespace mirrortrain::keras
