#pragma once

#include "kernels/kernel.h"
#include "kernels/scalar/attention.h"

// Attention's operands, and its kernels on tensor cores.
namespace mirrortrain::cuda {

using scalar::AttentionShape;

/// The inputs, all in the GPU's memory.
template <class T>
struct AttentionOperands {
  AttentionShape a;
  const T *query, *key, *value;
  const float *query_mask, *value_mask;  ///< null: every step counts
  const StepParams* params;
};

/// The operands of the gradients. With P the weights, S their scores, O = P V: dV = Pᵀ dO, dP = dO Vᵀ, dS = P (dP -
/// sum(dO O)), dQ = scale dS K, dK = scale dSᵀ Q.
template <class T>
struct AttentionGradients {
  AttentionOperands<T> in;
  const T *output, *gradient;
  const float* log_sums;
  float* dots;  ///< sum(dO O), [rows, heads, steps]
};

/// Attention's kernels as add_custom_kernels adds them, but float32 may be rounded to tf32.
void add_tf32_attention_kernels(KernelRegistry& registry);

/// Whether the two functions below compute attention of this shape: queries, keys and values of 64 or 128 numbers per
/// head, and code for tensor cores on the current GPU. float32 is rounded to tf32 in all products, bfloat16's weights
/// and their gradients to bfloat16; sums are float32.
bool fits_tiles(const AttentionShape& a);

/// softmax(scale Q Kᵀ) V in tiles of 64 steps and up to 64 source steps, with a running maximum and sum of each step
/// (Dao: "FlashAttention-2: Faster attention with better parallelism and work partitioning", 2023, algorithm 1). `y`
/// and `log_sums` may be null. Operands are aligned to 16 bytes.
template <class T>
void attend_in_tiles(Stream& stream, const AttentionOperands<T>& in, T* y, float* log_sums);

/// The gradients, in the same tiles: dQ in one pass over the source steps of each step and dK and dV in another over
/// the steps of each source step, so that every sum is one block's and has one order. Each output may be null.
template <class T>
void attention_gradients_in_tiles(Stream& stream, const AttentionGradients<T>& g, T* dq, T* dk, T* dv);

}  // namespace mirrortrain::cuda
