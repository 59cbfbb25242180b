#pragma once

#include "base/safetensors.h"
#include "model/model.h"
#include "train/runs/run_weights.h"

namespace mirrortrain {

/// The network of a run as one place computes it, in float32.
Model whole_model(const CheckedConfiguration& checked);

/// A run's weights as they are exported, which have every variable of `model`, and if asked their file's CRC-32; says
/// in the log which file they are from. Throws Error if they do not fit.
StoredTensors read_exported_weights(const RunWeights& weights, const Model& model, std::uint32_t* crc32 = nullptr);

}  // namespace mirrortrain
