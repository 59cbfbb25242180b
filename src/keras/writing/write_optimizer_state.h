#pragma once

#include <string>
#include <vector>

#include "base/safetensors.h"
#include "keras/writing/write_keras_model.h"
#include "keras/writing/write_layers.h"

namespace mirrortrain::keras {

/// What model.weights.h5 has of an optimizer, by path: the number of its updates, its learning rate unless that is a
/// schedule, and its slots, as the optimizer of Keras's numbers its variables. Empty, with a remark that says why,
/// where the state begins anew.
StoredTensors write_optimizer_state(const KerasExport& what, const std::vector<WrittenVariable>& trainable,
                                    std::vector<std::string>& remarks);

}  // namespace mirrortrain::keras
