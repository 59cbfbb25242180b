#pragma once

#include <string>

#include "graph/ops/recurrent.h"
#include "onnx/lowering.h"

namespace mirrortrain::onnx {

/// The states of a cell whose activations LSTM, GRU and RNN nodes do not have, as [rows, steps, units]: a Scan of its
/// formula. `product`: the input's product, [rows, steps, gates units]; bias and mask may be empty.
std::string scanned_states(Lowering& to, const ops::RecurrentAttributes& cell, std::int64_t units,
                           const std::string& product, const std::string& kernel, const std::string& bias,
                           const std::string& mask);

}  // namespace mirrortrain::onnx
