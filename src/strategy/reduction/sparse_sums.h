#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/step_kernels.h"
#include "strategy/reduction/deferred_gradients.h"
#include "strategy/reduction/gathered_rows.h"

namespace mirrortrain {

/// The sparse gradients of the tables in one domain of host memory. Each replica writes those of its own examples to a
/// record; the other domains' records are gathered; the update adds them in the replicas' order, so that the bits are
/// the same for any lanes and workers.
class SparseSums {
 public:
  struct Table {
    SparseGradient gradient;
    TableWeight weight;  ///< its place in the group
  };
  /// `largest_domain`: the maximum number of replicas of a domain. `most_rows`: of a replica's examples. `others`: the
  /// domain's rank; null where it is alone. Device, kernels and communicator must outlive it.
  SparseSums(Device& device, const StepKernels& kernels, std::vector<Table> tables, int largest_domain,
             std::int64_t most_rows, Communicator* others);

  std::size_t tables() const { return tables_.size(); }
  const Table& table(std::size_t table) const { return tables_[table]; }
  bool exchanges() const { return exchanges_; }
  /// Sets where a replica of the domain keeps the numbers and gradients of its lookups in a table.
  void bind(std::size_t table, int replica, std::vector<Lookups> lookups);

  /// Writes the gradient of a table from a replica's examples, whose lookups the graph has. Any thread may call it for
  /// one replica at a time.
  void sum(Stream& stream, std::size_t table, int replica, std::int64_t examples, float scale, const Graph& graph);
  /// Fetches the other domains' records, once those of this one are written.
  void gather(Stream& stream) const { records_.gather(stream); }

  /// Those of all replicas of the run, in their order.
  std::span<const SparseRows> gradients(std::size_t table) const { return gradients_[table]; }

  /// Their sum, in memory that the next call overwrites.
  SparseRows merged(Stream& stream, std::size_t table);

  std::size_t bytes() const;

 private:
  /// What a replica works with.
  struct Own {
    std::vector<std::vector<Lookups>> lookups;  ///< by table
    Buffer scratch, row;
  };
  /// Where a table's part of a record has what, in floats from its head.
  struct Layout {
    std::int64_t numbers = 0, values = 0, end = 0;
  };
  static Layout layout_of(const Table& table, std::int64_t most_rows);
  static std::int64_t record_floats(const std::vector<Table>& tables, std::int64_t most_rows);
  std::int64_t most_lookups(const Table& table) const { return most_rows_ * table.gradient.per_example; }

  static constexpr std::int64_t kLine = 16;  ///< floats of a cache line

  const StepKernels& kernels_;
  const std::vector<Table> tables_;
  const std::int64_t most_rows_;
  const bool exchanges_;
  GatheredRows records_;
  std::vector<std::vector<SparseRows>> gradients_;  ///< by table, then replica of the run
  std::vector<Own> own_;                            ///< by replica of the domain
  std::vector<float> merged_;                       ///< empty until it is asked for
};

}  // namespace mirrortrain
