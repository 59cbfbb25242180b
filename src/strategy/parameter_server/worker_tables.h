#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/feeding/feeder.h"
#include "model/model.h"
#include "strategy/parameter_server/placement.h"
#include "strategy/reduction/deferred_gradients.h"
#include "strategy/strategy.h"

namespace mirrortrain {

/// The tables with sparse gradients, as a worker of parameter servers exchanges them: rows of the servers' parts.
class WorkerTables {
 public:
  /// Rows of all parts, by server.
  using Rows = std::vector<std::vector<PartRows>>;

  /// The tables are those that the placement says are sparse. All must outlive it.
  WorkerTables(const Model& model, std::vector<SparseGradient> tables, const Placement& placement);

  bool any() const { return !tables_.empty(); }
  bool has(std::size_t variable) const { return find(variable) != nullptr; }

  /// The rows that examples look up, if that is known before the step: of inputs in memory, which the lookups' numbers
  /// are. Nothing if it is not, or if they are too many to ask for.
  std::optional<Rows> looked_up(const data::Feeder& examples, std::span<const std::int64_t> rows) const;
  /// Copies what was pulled of a table to it.
  void read(const Rows& pulled, const LastingVariable& to) const;
  /// Adds the rows of a table's gradient after a training step.
  void push(const LastingVariable& table, Strategy& strategy, Rows& to) const;
  static double squares(const Rows& pushed);

 private:
  struct Part {
    std::size_t server = 0, number = 0;
    std::int64_t first = 0, rows = 0;  ///< of the table
  };
  struct Table {
    SparseGradient gradient;
    std::int64_t width = 0;
    std::vector<Part> parts;
  };
  const Table* find(std::size_t variable) const;
  std::optional<std::vector<float>> numbers_of(const Table& table, const data::Feeder& examples,
                                               std::span<const std::int64_t> rows) const;
  static void add(const Table& table, std::span<const float> numbers, const float* values, Rows& to);

  const Model& model_;
  const std::size_t servers_;
  std::vector<Table> tables_;
};

}  // namespace mirrortrain
