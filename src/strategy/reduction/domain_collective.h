#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "runtime/arena.h"
#include "runtime/program.h"
#include "strategy/reduction/gradient_reducer.h"
#include "strategy/topology.h"

namespace mirrortrain {

/// The places of one memory domain, by lane; in a pipeline, where other lanes may compute each stage, by index on the
/// axis `model`.
struct PlacesHere {
  Mesh mesh;  ///< of the run
  std::vector<std::vector<int>> of_lane;
  int parts = 1;  ///< how many indices on the axis `model` every domain has

  /// The number of a place among those of this domain. Of a pipeline's microbatches, those that are never computed at
  /// the same time have the same number.
  int number(int place) const;
};

/// A piece of memory that collectives share, and the time for which it is needed: segments of the program are the even
/// times, collectives the odd ones between them.
struct BorrowedMemory {
  Lifetime lifetime;
  std::byte** memory;  ///< to be set to it
};

/// A collective of a model's graph in one memory domain: computed by its lanes, between two segments of the programs.
class DomainCollective {
 public:
  virtual ~DomainCollective() = default;
  /// Whether it has places in other domains.
  virtual bool exchanges() const = 0;
  /// Whether it depends on another place.
  virtual bool is_shared() const = 0;
  /// Sets the memory of its inputs and outputs in a place's programs, by ValueId; variables and the
  /// gradients of their parts are bound already.
  virtual void bind(int place, std::vector<std::byte*>& values) = 0;
  /// Adds the memory that it shares with other collectives, as number `which` of `program`.
  virtual void plan(std::size_t /*which*/, const Program& /*program*/, std::vector<BorrowedMemory>& /*memory*/) {}
  /// Sets the inputs of a place without rows to 0, before its first collective.
  virtual void zero_inputs(Stream& /*stream*/, int /*place*/) const {}
  /// See Collectives::run.
  virtual void run(std::int64_t examples, DomainLane& lane, GradientReducer* reducer) = 0;
  /// See Collectives::run_for; pipelines have none where this is not defined.
  virtual void run_for(int place, std::int64_t examples, DomainLane& lane);
  /// Of memory that is its own.
  virtual std::size_t bytes() const = 0;
};

}  // namespace mirrortrain
