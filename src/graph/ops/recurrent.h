#pragma once

#include "base/host_device.h"
#include "graph/graph.h"
#include "graph/ops/activation_kind.h"

namespace mirrortrain::ops {

/// The cells of recurrent layers. Their gates, as blocks of columns:
///  - kLstm (Hochreiter and Schmidhuber, 1997): input, forget, candidate, output;
///  - kSimple (Elman, 1990): the state itself;
///  - kGru (Cho et al., 2014): update, reset, candidate. The reset gate is applied to the candidate's product with the
///    state; in kGruResetBefore, to the state before that product.
enum class Cell : std::uint8_t { kLstm, kGru, kGruResetBefore, kSimple };

/// Both activations must be ones whose derivative_from_output.
struct RecurrentAttributes {
  Cell cell = Cell::kLstm;
  ActivationKind activation = ActivationKind::kTanh;               ///< of the candidate, and of an LSTM's cell
  ActivationKind recurrent_activation = ActivationKind::kSigmoid;  ///< of the other gates
  bool backwards = false;                                          ///< the last time step of the input comes first

  std::int64_t gates() const { return cell == Cell::kLstm ? 4 : cell == Cell::kSimple ? 1 : 3; }
  /// Numbers saved per unit and time step for the gradient: the gates after their activations, then an LSTM's cell, or
  /// for kGru the candidate's product with the state, before the reset.
  std::int64_t saved() const { return cell == Cell::kLstm ? 5 : cell == Cell::kGru ? 4 : gates(); }
  /// Matrix multiplications per time step, with parts of the recurrent kernel that have different inputs.
  std::int64_t products() const { return cell == Cell::kGruResetBefore ? 2 : 1; }
  /// Whether the gates add their product with the state to that of the input, and the state before a step is read by
  /// that product alone.
  MIRRORTRAIN_HOST_DEVICE bool adds_products() const { return cell == Cell::kLstm || cell == Cell::kSimple; }
};

/// A recurrent layer after the input's product with the kernel: at each time step, the gates from that product, the
/// product of the state with the recurrent kernel, and the recurrent bias; then the state from the gates. The initial
/// state is zero.
/// Inputs: the input's product, batched [steps, gates units] float32 or bfloat16; recurrent kernel [units, gates units]
/// float32; recurrent bias [gates units] float32 or absent; the input's mask (mask.h) [steps] or absent: where a time
/// step does not count, the state and an LSTM's cell are unchanged. Outputs: the states, in the order in which they are
/// computed, batched [steps, units] in the first input's dtype; saved(), batched [steps, saved units] float32.
struct Recurrent : Op, RecurrentAttributes {
  explicit Recurrent(const RecurrentAttributes& attributes) : RecurrentAttributes(attributes) {}
  std::string_view name() const override { return "recurrent"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: recurrent kernel; Recurrent's two outputs; gradient of the first; the mask or absent. Outputs, by time step
/// of the input: the gradient of the input's product, batched [steps, gates units]; the factors of the recurrent
/// kernel's gradient, which is the sum of transposed(left) right over all rows, steps and products: left, batched
/// [steps, products, units], and right, batched [steps, products, gates units]. If adds_products(), right is the
/// first output rather than an output of its own.
struct RecurrentGradient : Op, RecurrentAttributes {
  explicit RecurrentGradient(const RecurrentAttributes& attributes) : RecurrentAttributes(attributes) {}
  std::string_view name() const override { return "recurrent_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
