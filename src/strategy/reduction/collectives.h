#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "graph/ops/collective.h"
#include "strategy/reduction/gathered_rows.h"
#include "strategy/reduction/gradient_reducer.h"
#include "strategy/topology.h"

namespace mirrortrain {

/// The collectives of a model's graphs (graph/ops/collective.h) in one memory domain. Each place of the mesh writes its
/// inputs to a row of a table; the rows of other domains are gathered; then every lane computes the results of its
/// places from the rows of their group, in the places' order. A group: places that differ in the index of the
/// collective's axis alone; its places may all be in this domain.
class Collectives {
 public:
  /// `graphs`: by index on the axis `model`. `places`: of the domain, by lane. `largest_domain`: the maximum number of
  /// places of a domain; with an axis `model`, every domain has as many, which follow each other. `most_rows`: of a
  /// place's programs. `along_data`, `along_model`: the domain's rank among those with the same parts of the layers,
  /// and among those of its row; null where it is alone. All but `places` must outlive it.
  Collectives(Device& device, const StepKernels& kernels, std::span<const Graph* const> graphs, std::int64_t most_rows,
              const Mesh& mesh, std::vector<std::vector<int>> places, int largest_domain, Communicator* along_data,
              Communicator* along_model);

  std::size_t size() const { return all_.size(); }
  /// Whether it has places in other domains.
  bool exchanges(std::size_t which) const { return all_[which].exchanges; }
  /// Whether any depends on another place; otherwise the programs run without a break.
  bool are_shared() const;

  /// Calls `bind` with the memory of all inputs and outputs of a place's programs. `place`: its number in the run.
  void bind(int place, const std::function<void(ValueId value, std::byte* memory)>& bind) const;
  /// Sets the inputs of a place without rows to 0.
  void zero_inputs(Stream& stream, int place) const;

  /// Computes the outputs for the lane's places, after they have written their inputs by work enqueued to its stream.
  /// Called by every lane of the domain. `examples`: of the global batch. `reducer`: of the gradients, whose operations
  /// must come before this one; null if there is none. Allocates nothing.
  void run(std::size_t which, std::int64_t examples, DomainLane& lane, GradientReducer* reducer);

  std::size_t bytes() const;

 private:
  /// The rows of a group's places, in order: first, first + step, ...
  struct Group {
    int first = 0, step = 1, size = 1;
  };
  /// A sum that a lane computes: for all of its places in a group, or for the one that gets this part.
  struct Result {
    int place = 0;
    Buffer memory;
    std::vector<scalar::GradientSource> sources{};  ///< of the sum being computed
  };
  struct One {
    ops::PlacedCollective of;
    DType dtype;                           ///< of the inputs
    bool batched = false;                  ///< whether they have rows of examples
    bool exchanges = false;                ///< with other domains
    std::vector<std::int64_t> elements{};  ///< of each input, or of a row of it, by index on the axis `model`
    std::int64_t part = 0;                 ///< numbers of a row of the table for each input
    GatheredRows rows;
    std::vector<std::vector<Result>> results{};  ///< by lane

    std::size_t part_bytes() const { return static_cast<std::size_t>(part) * size_of(dtype); }
    bool gathers() const { return of.op->kind == ops::Collective::Kind::kAllGather; }
    bool scatters() const { return of.op->kind == ops::Collective::Kind::kReduceScatter; }
  };

  /// The number of a place among those of this domain.
  int number_here(int place) const;
  /// The row of a place of this domain.
  std::int64_t row_of(const One& one, int place) const { return one.rows.own(number_here(place)); }
  Group group_of(const One& one, int place) const;
  int places_of(const One& one) const { return one.of.op->axis == ops::Axis::kData ? mesh_.data : mesh_.model; }
  /// Whether both get the same sum.
  bool share(const One& one, int place, int other) const;
  std::byte* output(const One& one, int place) const;
  void add(const One& one, Result& result, std::int64_t count, Stream& stream) const;

  const StepKernels& kernels_;
  const Mesh mesh_;
  const std::vector<std::vector<int>> places_;
  const int parts_here_;  ///< indices on the axis `model` in a domain
  std::vector<One> all_;
};

}  // namespace mirrortrain
