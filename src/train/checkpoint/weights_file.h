#pragma once

#include <set>
#include <string>

#include "base/safetensors.h"
#include "strategy/strategy.h"

namespace mirrortrain {

/// The tensors of a file of weights: safetensors, the index of a model in several of these (*.safetensors.index.json),
/// a .keras archive, an ONNX file (its initializers), or HDF5 as Keras writes it (.weights.h5, .h5). The layers of
/// Keras's have the names of the model's variables, "dense/kernel"; those that `names` has by their paths there,
/// "layers/dense/vars/0", keep them. Throws Error, naming the file, if it is damaged, or of a kind that this program
/// was built without.
bool is_onnx_file(const std::string& file);
StoredTensors read_weights_file(const std::string& file, Strategy& strategy, const std::set<std::string>& names = {});

}  // namespace mirrortrain
