#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/ops/activation_kind.h"
#include "graph/ops/batch_norm.h"
#include "onnx/builder.h"

namespace mirrortrain::onnx {

/// The activation of a value of any shape.
std::string activated(Builder& builder, ops::ActivationKind kind, const std::string& x);
/// relu, or relu up to a number, if it is on.
std::string rectified(Builder& builder, const ops::Rectifier& relu, const std::string& x);

/// An activation inside LSTM, GRU and RNN nodes, with its parameters.
struct CellActivation {
  std::string name;
  std::vector<float> alpha{}, beta{};
};
/// nullopt where those nodes have none like it.
std::optional<CellActivation> cell_activation(ops::ActivationKind kind);

}  // namespace mirrortrain::onnx
