#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/ops/collective.h"
#include "strategy/reduction/domain_collective.h"
#include "strategy/reduction/gathered_rows.h"

namespace mirrortrain {

/// all_reduce, all_gather or reduce_scatter. Each place of the mesh writes its inputs to a row of a table; the rows of
/// other domains are gathered; then every lane computes the results of its places from the rows of their group, in the
/// places' order. A group: places that differ in the index of the collective's axis alone; its places may all be in
/// this domain.
class RowsExchange : public DomainCollective {
 public:
  /// `graphs`: by index on the axis `model`. `largest_domain`: the maximum number of places of a domain; with an axis
  /// `model`, every domain has as many, which follow each other. `most_rows`: of a place's programs. `others`: the
  /// domain's rank along the collective's axis; null where it is alone. All must outlive it.
  RowsExchange(ops::PlacedCollective of, Device& device, const StepKernels& kernels,
               std::span<const Graph* const> graphs, std::int64_t most_rows, const PlacesHere& places,
               int largest_domain, Communicator* others);

  bool exchanges() const override { return others_ != nullptr; }
  bool is_shared() const override { return places_of_axis() > 1; }
  void bind(int place, std::vector<std::byte*>& values) override;
  void zero_inputs(Stream& stream, int place) const override;
  void run(std::int64_t examples, DomainLane& lane, GradientReducer* reducer) override;
  void run_for(int place, std::int64_t examples, DomainLane& lane) override;
  std::size_t bytes() const override;

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

  std::size_t part_bytes() const { return static_cast<std::size_t>(part_) * size_of(rows_.dtype()); }
  bool gathers() const { return of_.op->kind == ops::Collective::Kind::kAllGather; }
  bool scatters() const { return of_.op->kind == ops::Collective::Kind::kReduceScatter; }
  int places_of_axis() const { return of_.op->axis == ops::Axis::kData ? places_.mesh.data : places_.mesh.model; }
  std::int64_t row_of(int place) const { return rows_.own(places_.number(place)); }
  Group group_of(int place) const;
  /// Whether both get the same sum.
  bool share(int place, int other) const;
  /// Where a place's sum is.
  Result& result_of(int place);
  void add(Result& result, int place, std::int64_t examples, Stream& stream) const;

  ops::PlacedCollective of_;
  const StepKernels& kernels_;
  const PlacesHere& places_;
  bool batched_;  ///< whether the inputs have rows of examples
  Communicator* others_;
  std::vector<std::int64_t> elements_;  ///< of each input, or of a row of it, by index on the axis `model`
  std::int64_t part_;                   ///< numbers of a row of the table for each input
  GatheredRows rows_;
  std::vector<std::vector<Result>> results_;  ///< by lane
};

}  // namespace mirrortrain
