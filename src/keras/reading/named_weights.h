#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/safetensors.h"
#include "keras/reading/convert_model.h"

namespace mirrortrain::keras {

/// A variable of the model.
struct VariableShape {
  std::string name;
  Shape shape;
};

/// The weights of a file by the names of the model's variables, or, of layers that the model has not, by what they are
/// called there; what that is not known of keeps its path, as do those in `paths`. `origins`: of the file's layers.
/// Weights of another shape are taken too, for whoever reads them to report.
StoredTensors named_weights(Hdf5Contents weights, const std::vector<LayerOrigin>& origins,
                            const std::vector<VariableShape>& variables, const std::set<std::string>& paths = {});

/// The layers of a serialized model with their weights' groups, whether or not all of it exists here. Layers within
/// another model have its name in front: "tower_dense".
std::vector<LayerOrigin> origins_in(const Json& model);
/// The same of a .weights.h5, whose groups say the layers' names, or else their types'.
std::vector<LayerOrigin> origins_in(const Hdf5Contents& weights);

/// Whether a variable is a factor of a LoRA, which Keras adds to the kernel when it saves a model, and leaves out.
bool is_of_lora(std::string_view variable);

/// Takes away what is no weight of a layer here: an optimizer's, of generators of random numbers, and of preprocessing.
void keep_weights_of_layers(Hdf5Contents& weights);

}  // namespace mirrortrain::keras
