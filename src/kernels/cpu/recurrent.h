#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/simd_elements.h"
#include "kernels/scalar/activations.h"
#include "kernels/scalar/recurrent.h"

// Shared by the forward and backward passes of recurrent layers.
namespace mirrortrain::cpu {

// Rows that a thread runs through all time steps together: their gates stay in the second-level cache together with the
// kernel.
inline constexpr std::int64_t kRowsTogether = 64;

/// An activation's functions on a row, in place: values become the outputs, gradients those of the inputs.
struct RowActivation {
  void (*forward)(float* values, std::int64_t count);
  void (*backward)(const float* outputs, float* gradients, std::int64_t count);

  explicit RowActivation(ops::ActivationKind kind) {
    scalar::with_activation(kind, [this]<class Kind>(Kind) {
      forward = [](float* values, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) values[i] = Kind::forward(values[i]);
      };
      backward = [](const float* outputs, float* gradients, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) gradients[i] = Kind::backward(outputs[i], gradients[i]);
      };
    });
  }
};

/// Every gate in whole vectors; padding beyond the units is finite and only multiplied by zeros.
struct Recurrence : scalar::RecurrentShape {
  RowActivation activation, recurrent_activation;

  Recurrence(const ops::RecurrentAttributes& attributes, const Shape& states)
      : RecurrentShape(attributes, states),
        activation(attributes.activation),
        recurrent_activation(attributes.recurrent_activation) {}

  std::int64_t wide() const { return padded(units); }
  std::int64_t columns() const { return gates * wide(); }
  /// Columns of the first matrix multiplication of a time step.
  std::int64_t first_columns() const { return (products == 2 ? 2 : gates) * wide(); }
};

/// Calls body(first, count) for the panels of columns that `multiply` processes at a time.
template <class Body>
void each_panel(std::int64_t begin, std::int64_t end, const Body& body) {
  for (; begin < end; begin += panel_columns()) body(begin, std::min(panel_columns(), end - begin));
}

/// A row of all gates, each in whole vectors.
inline void copy_gates(const Recurrence& r, const float* from, float* to) {
  for (std::int64_t gate = 0; gate < r.gates; ++gate, from += r.units, to += r.wide()) {
    each_vector(r.units, [&](std::int64_t i, auto part) { store(to + i, part.load(from + i)); });
  }
}

/// Distributes the rows over threads, each with its own workspace after the shared part; a row's result does not depend
/// on the others.
template <class Body>
void each_rows(const Recurrence& r, int threads, const Body& body) {
  parallel_parts(threads, r.rows, 1, [&](int part, std::int64_t begin, std::int64_t end) {
    const std::int64_t blocks = (end - begin + kRowsTogether - 1) / kRowsTogether;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t first = begin + (end - begin) * block / blocks;
      body(part, first, begin + (end - begin) * (block + 1) / blocks - first);
    }
  });
}

inline std::size_t parts_of(const Recurrence& r, int threads) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(r.rows, 1, threads));
}
inline float* floats_at(std::byte* workspace, std::size_t offset) {
  return reinterpret_cast<float*>(workspace + offset);
}

}  // namespace mirrortrain::cpu
