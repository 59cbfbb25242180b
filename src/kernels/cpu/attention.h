#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/row_dropout.h"
#include "kernels/cpu/simd_elements.h"
#include "kernels/cpu/transpose.h"
#include "kernels/scalar/attention.h"

// Shared by attention and its gradient: one head of one row at a time, block by block.
namespace mirrortrain::cpu {

// A block of scores, 32 x 128 floats, stays in the first-level cache together with its operands.
inline constexpr std::int64_t kQueries = 32, kKeys = 128;

/// The sizes of a row's head as floats, in whole vectors.
struct Attended : scalar::AttentionShape {
  using AttentionShape::AttentionShape;

  std::int64_t columns() const { return padded(sources); }
  std::int64_t wide() const { return padded(size); }
  std::int64_t value_wide() const { return padded(value_size); }
  /// The distance between steps in tensors of queries and keys; value_stride in those of values and outputs.
  std::int64_t stride() const { return op.heads * size; }
  std::int64_t value_stride() const { return op.heads * value_size; }
};

/// The masks of a row.
struct Sight : scalar::AttentionSight {
  using AttentionSight::AttentionSight;

  /// The end of the source steps that a block of steps may see.
  std::int64_t reach_of(std::int64_t first_step, std::int64_t count) const {
    if (!is_masked()) return a.seen(first_step + count - 1);
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < count; ++i) most = std::max(most, reach(first_step + i));
    return most;
  }
  /// The first source step that a block of steps may see, in whole blocks of source steps.
  std::int64_t first_of(std::int64_t first_step, std::int64_t count) const {
    if (a.op.window == 0) return 0;
    std::int64_t least = a.sources;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t step = first_step + i;
      least = std::min(least, !is_blind(step) ? a.first_seen(step) : reach(step) > 0 ? 0 : a.sources);
    }
    return least / kKeys * kKeys;
  }
  /// The number of source steps of a block from `source` on that a step may see; masks hidden ones among them in the
  /// step's scores.
  std::int64_t look(std::int64_t step, std::int64_t source, std::int64_t count, float* scores) const {
    const std::int64_t sees = std::clamp<std::int64_t>(reach(step) - source, 0, count);
    if (!is_masked()) return sees;
    if (is_blind(step)) {
      std::fill_n(scores, sees, 0.0f);
    } else {
      for (std::int64_t i = 0; i < sees; ++i) scores[i] = hides(step, source + i) ? kHidden : scores[i];
    }
    return sees;
  }
};

/// [count][width] of a head, from rows `stride` apart, as floats times `factor`; zeros up to `wide`.
template <class T>
void gather_steps(const T* from, std::int64_t count, std::int64_t stride, std::int64_t width, std::int64_t wide,
                  float factor, float* to) {
  for (std::int64_t row = 0; row < count; ++row, from += stride, to += wide) {
    each_vector(width, [&](std::int64_t i, auto part) { store(to + i, get(from + i, part) * factor); });
  }
}

/// The reverse of gather_steps.
template <class T>
void scatter_steps(const float* from, std::int64_t count, std::int64_t wide, std::int64_t width, float factor, T* to,
                   std::int64_t stride) {
  for (std::int64_t row = 0; row < count; ++row, from += wide, to += stride) {
    each_vector(width, [&](std::int64_t i, auto part) { put(to + i, load(from + i) * factor, part); });
  }
}

/// [wide][columns] from [count][wide]; zeros beyond `count`.
inline void turn_steps(const float* from, std::int64_t count, std::int64_t wide, std::int64_t columns, float* to) {
  transpose(count, wide, from, wide, to, columns);
  for (std::int64_t row = 0; row < wide; ++row) std::fill(to + row * columns + count, to + (row + 1) * columns, 0.0f);
}

/// The dropout of a head's weights.
struct WeightDropout {
  const Attended& a;
  RowDropout drop;
  std::uint32_t row;
  std::int64_t head;

  WeightDropout(const Attended& attended, const StepParams& step, std::int64_t of_row, std::int64_t of_head)
      : a(attended),
        drop{a.op.dropout, a.op.stream, Philox::with_key(step.seed), static_cast<std::uint32_t>(step.step)},
        row(static_cast<std::uint32_t>(step.first_row + of_row)),
        head(of_head) {}

  void operator()(float* weights, std::int64_t step, std::int64_t source, std::int64_t count) const {
    if (drop.rate > 0) drop(weights, weights, count, row, a.element(head, step, source));
  }
};

/// Consecutive steps of a block.
struct Span {
  std::int64_t first, count;
};

/// Calls body(span) for [begin, end), up to `together` at a time.
template <class Body>
void each_span(std::int64_t begin, std::int64_t end, std::int64_t together, const Body& body) {
  for (std::int64_t first = begin; first < end; first += together) body(Span{first, std::min(together, end - first)});
}

/// Divides a thread's workspace into parts; without one, computes its size.
class FloatParts {
 public:
  explicit FloatParts(float* workspace) : workspace_(workspace) {}
  float* take(std::int64_t count) {
    const std::size_t offset = layout_.floats(count);
    return workspace_ == nullptr ? nullptr : workspace_ + offset;
  }
  std::size_t bytes() const { return layout_.bytes(); }

 private:
  float* workspace_;
  FloatLayout layout_;
};

/// The base of computations on one head of one row.
class AttendedHead {
 protected:
  /// `masks`: the index of the first mask among the kernel's inputs.
  AttendedHead(const Attended& attended, std::int64_t row, std::int64_t head, const KernelArgs& args, std::size_t masks)
      : a(attended),
        row_(row),
        head_(head),
        args_(args),
        drop_(a, *args.step, row, head),
        sight_(a, input<float>(args, masks), input<float>(args, masks + 1), row) {}

  const Attended& a;
  const std::int64_t row_, head_;
  const KernelArgs& args_;
  const WeightDropout drop_;
  const Sight sight_;
};

/// Runs a Head<T> for each, with Parts as its workspace. Heads are distributed over the threads; their results do not
/// depend on how.
template <class Parts, template <class> class Head, class AttentionOp>
std::unique_ptr<Kernel> make_by_heads(const AttentionOp& op, const KernelSpecs& specs) {
  const Attended a(op, specs.inputs[0].shape, specs.inputs[1].shape, specs.inputs[2].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const std::int64_t heads = a.rows * a.op.heads;
    const std::size_t bytes = Parts(a, nullptr).bytes();
    const auto parts = static_cast<std::size_t>(std::clamp<std::int64_t>(heads, 1, specs.threads));
    return loop_kernel(
        [a, heads, bytes, threads = specs.threads](const KernelArgs& args) {
          parallel_parts(threads, heads, 1, [&](int part, std::int64_t begin, std::int64_t end) {
            auto* const workspace = reinterpret_cast<float*>(args.workspace + static_cast<std::size_t>(part) * bytes);
            for (std::int64_t i = begin; i < end; ++i) {
              Head<T>(a, i / a.op.heads, i % a.op.heads, args, workspace).run();
            }
          });
        },
        parts * bytes);
  });
}

}  // namespace mirrortrain::cpu
