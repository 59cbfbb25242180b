#pragma once

#include "graph/graph.h"
#include "graph/ops/activation_kind.h"

namespace mirrortrain::ops {

/// The cells of recurrent layers. Their gates, as blocks of columns:
///  - kLstm (Hochreiter and Schmidhuber, 1997): input, forget, candidate, output;
///  - kGru (Cho et al., 2014): update, reset, candidate. The reset gate is applied to the candidate's product with the
///    state; in kGruResetBefore to the state, before that product.
enum class Cell : std::uint8_t { kLstm, kGru, kGruResetBefore };

/// Both activations must be ones whose derivative_from_output.
struct RecurrentAttributes {
  Cell cell = Cell::kLstm;
  ActivationKind activation = ActivationKind::kTanh;               ///< of the candidate, and of an LSTM's cell
  ActivationKind recurrent_activation = ActivationKind::kSigmoid;  ///< of the other gates
  bool backwards = false;                                          ///< the last step of the input comes first

  std::int64_t gates() const { return cell == Cell::kLstm ? 4 : 3; }
  /// Numbers of a unit and step that the gradient needs: the gates after their activations, then an LSTM's cell, or the
  /// candidate's product with the state that kGru resets.
  std::int64_t saved() const { return cell == Cell::kLstm ? 5 : cell == Cell::kGru ? 4 : 3; }
  /// Matrix multiplications of a step with parts of the kernel that do not read the same.
  std::int64_t products() const { return cell == Cell::kGruResetBefore ? 2 : 1; }
};

/// What a recurrent layer does once the kernel's product with all steps of its input is there: step by step the gates
/// from that, the product of the state with the recurrent kernel, and the recurrent bias; the state from the gates. The
/// first state is zero.
/// Inputs: the input's product, batched [steps, gates units] float32 or bfloat16; recurrent kernel [units, gates units]
/// float32; recurrent bias [gates units] float32 or absent; the input's mask (mask.h) [steps] or absent: where a step
/// does not count, the state and an LSTM's cell stay. Outputs: the states, in the order in which they are computed,
/// batched [steps, units] in the first input's dtype; saved(), batched [steps, saved units] float32.
struct Recurrent : Op, RecurrentAttributes {
  explicit Recurrent(const RecurrentAttributes& attributes) : RecurrentAttributes(attributes) {}
  std::string_view name() const override { return "recurrent"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: recurrent kernel; Recurrent's two outputs; gradient of the first; the mask or absent. Outputs, by step of
/// the input: the gradient of the input's product, batched [steps, gates units]; the factors of the recurrent kernel's
/// gradient, which is the sum of transposed(left) right over all rows, steps and products: left, batched [steps,
/// products, units], and right, batched [steps, products, gates units]. An LSTM's right is its first output, and no
/// output of its own.
struct RecurrentGradient : Op, RecurrentAttributes {
  explicit RecurrentGradient(const RecurrentAttributes& attributes) : RecurrentAttributes(attributes) {}
  std::string_view name() const override { return "recurrent_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
