#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/ops/collective.h"
#include "strategy/reduction/domain_collective.h"
#include "strategy/reduction/gather_ahead.h"
#include "strategy/reduction/parts_exchange.h"

namespace mirrortrain {

/// The collectives of a model's graphs (graph/ops/collective.h) in one memory domain, in the order in which programs
/// reach them.
class Collectives {
 public:
  /// `graphs`: by index on the axis `model`. `places`: of the domain, as in PlacesHere. `largest_domain`: the maximum
  /// number of places of a domain; with an axis `model`, every domain has as many, which follow each other.
  /// `most_rows`: of a place's programs. `along_data`, `along_model`: the domain's rank among those with the same parts
  /// of the layers, and among those of its row; null where it is alone. `on_host`: the domain is in host memory. All
  /// but `places` must outlive it.
  Collectives(Device& device, const StepKernels& kernels, std::span<const Graph* const> graphs, std::int64_t most_rows,
              const Mesh& mesh, std::vector<std::vector<int>> places, int largest_domain, Communicator* along_data,
              Communicator* along_model, bool on_host);

  /// Plans the memory that collectives of parts share, which are in use at different times of the program, any of
  /// those that a place runs. Returns its size.
  std::size_t plan(const Program& program);
  /// Gives them the memory, before `bind`. It must outlive this.
  void place_parts(std::byte* memory);

  std::size_t size() const { return all_.size(); }
  /// Whether it has places in other domains.
  bool exchanges(std::size_t which) const { return all_[which]->exchanges(); }
  /// Whether any depends on another place; otherwise the programs run without a break.
  bool are_shared() const;

  /// Sets the memory of all inputs and outputs in a place's programs, by ValueId; variables and the
  /// gradients of their parts are bound already. `place`: its number in the run.
  void bind(int place, std::vector<std::byte*>& values) const;
  /// Sets the inputs of a place without rows to 0.
  void zero_inputs(Stream& stream, int place) const;

  /// Computes the outputs for the lane's places, after they have written their inputs by work enqueued to its stream.
  /// Called by every lane of the domain. `examples`: of the global batch. `reducer`: of the gradients, whose operations
  /// must come before this one; null if there is none. Allocates nothing.
  void run(std::size_t which, std::int64_t examples, DomainLane& lane, GradientReducer* reducer);
  /// Where elements travel by themselves, weights are gathered one layer ahead, from the gather before on. The lane's
  /// stream waits until that is done: before anything else is exchanged.
  void finish_ahead(DomainLane& lane);

  /// The same for one place, of a microbatch of a pipeline, whose stage computes the collective: all of the replica's
  /// places have the same microbatch in the stage, and `lane` meets those that compute them.
  void run_for(std::size_t which, int place, std::int64_t examples, DomainLane& lane);

  std::size_t bytes() const;

 private:
  void begin_ahead(Device& device, bool on_host);

  PlacesHere places_;
  std::vector<std::unique_ptr<DomainCollective>> all_;
  std::unique_ptr<GatherAhead> ahead_;  ///< null if there are no two such gathers
  std::vector<PartsExchange*> next_;    ///< by collective: the gather that begins when it is done; may be null
  std::vector<bool> begins_before_;     ///< by collective: whether it is one of `next_`
  std::vector<BorrowedMemory> pieces_;
  std::vector<std::size_t> offsets_;  ///< of the pieces
};

}  // namespace mirrortrain
