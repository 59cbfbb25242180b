#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/kernel.h"

namespace mirrortrain {

/// A variable's derived copy that a program's kernels need (see DerivedForm).
struct DerivedCopy {
  ValueId variable = kNoValue;
  DerivedForm form;
};

/// The memory of a program's tensors. Owned by the caller; must outlive the programs bound to it.
struct Bindings {
  /// By ValueId: inputs, variables, values that no node of the graph computes, the outputs of collectives and the
  /// program's outputs; null elsewhere.
  std::vector<std::byte*> values;
  std::vector<std::byte*> derived;  ///< one per Program::derived_copies()
  std::byte* arena = nullptr;       ///< Program::arena_bytes(), aligned to 64
  const StepParams* step = nullptr;
  unsigned* blocks_done = nullptr;  ///< see KernelArgs; of the stream that the program runs on
};

/// A graph at one number of rows on one device: its kernels and a plan of the arena. It owns no tensor, so the replicas
/// of one lane share a program and bind their own memory. One lane uses it at a time. Collectives divide it into
/// segments: between two of them, whoever runs the program computes the collective.
class Program {
 public:
  /// Keeps the nodes that `outputs` depend on; the outputs are written to memory bound from outside. Throws Error,
  /// naming the layer, if a node has no kernel.
  Program(const Graph& graph, std::int64_t rows, const std::vector<ValueId>& outputs, const KernelRegistry& registry,
          int threads);

  std::int64_t rows() const { return rows_; }
  std::size_t arena_bytes() const { return arena_bytes_; }
  const std::vector<DerivedCopy>& derived_copies() const { return derived_copies_; }

  /// A step is one kernel. A graph with the same outputs has the same steps, in the same order, at every number of rows
  /// and on every device; only the work before a step's kernel (derived forms) may differ.
  std::size_t steps() const { return steps_.size(); }

  const std::string& layer_of_step(std::size_t step) const { return steps_[step].layer; }

  /// For each collective of the graph, how many steps come before it. With its input among the outputs, that is
  /// complete by then.
  const std::vector<std::size_t>& segment_ends() const { return segment_ends_; }

  /// The number of steps after which an output has its final value and the program no longer accesses it; steps() if a
  /// copy after the last step does. Throws Error for a value that is not an output.
  std::size_t complete_after(ValueId output) const;

  /// How many steps come before the first that reads a variable, or a derived copy of it; nothing if none does.
  std::optional<std::size_t> first_read(ValueId variable) const;

  /// The segments in which the program first and last accesses an output or what a collective gives: segment i is
  /// between collectives i - 1 and i. Nothing if it never does.
  struct Segments {
    std::size_t first = 0, last = 0;
  };
  std::optional<Segments> segments_of(ValueId bound) const;

 private:
  friend class BoundProgram;

  /// A tensor's location: bound from outside, a derived copy, or at an offset of the arena.
  struct Place {
    enum class Kind { kAbsent, kBound, kDerived, kArena } kind = Kind::kAbsent;
    std::size_t index = 0;  ///< ValueId, number of the derived copy, or a lifetime whose offset the plan gives
  };
  struct Operand {
    TensorView view;  ///< data is null
    Place place;
  };
  /// A derived form of an input that is not a variable: computed before the kernel runs.
  struct Refresh {
    std::size_t input = 0;
    DerivedForm form;
    Operand canonical;
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<Operand> inputs, outputs;
    std::vector<Refresh> refreshes;
    Place workspace;
    std::string layer;
    std::string_view op;
  };
  /// An output that is an alias of a value bound elsewhere.
  struct Copy {
    Operand from, to;
  };
  class Lowering;

  std::int64_t rows_;
  std::size_t arena_bytes_ = 0;
  std::vector<std::size_t> offsets_;  ///< of the arena's lifetimes
  std::vector<DerivedCopy> derived_copies_;
  std::vector<Step> steps_;
  std::vector<std::size_t> segment_ends_;
  std::vector<Copy> copies_;
  std::map<ValueId, std::size_t> first_access_, complete_after_;  ///< steps before, by output
};

/// A program with its memory: enqueue allocates nothing.
class BoundProgram {
 public:
  /// `program` must outlive it.
  BoundProgram(const Program& program, const Bindings& bindings);
  BoundProgram(BoundProgram&&) = default;  // bound steps point into each other: never copied

  std::size_t steps() const { return steps_.size(); }

  /// The whole program.
  void enqueue(Stream& stream);

  /// The steps [first, last), and with the program's last one the copies that complete its outputs. Consecutive parts
  /// from 0 to steps() are the whole program: between them the bindings must not be modified, except outputs that are
  /// complete. Throws Error for an invalid range.
  void enqueue(Stream& stream, std::size_t first, std::size_t last);

  /// Seconds spent in each step since the start, for profiles: the layer, the op and the time. Empty unless `profile`
  /// was called; from then on the host waits for the device after each step.
  struct StepTime {
    std::string layer, op;
    double seconds = 0;
  };
  void profile() { times_.resize(program_->steps_.size()); }
  std::vector<StepTime> step_times() const;

 private:
  struct BoundRefresh {
    const DerivedForm* form;
    TensorView canonical;
    std::byte* copy;
  };
  struct BoundStep {
    std::vector<TensorView> inputs, outputs;
    std::vector<BoundRefresh> refreshes;
    KernelArgs args;
  };
  struct BoundCopy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };

  const Program* program_;
  std::vector<BoundStep> steps_;
  std::vector<BoundCopy> copies_;
  std::vector<double> times_;
};

}  // namespace mirrortrain
