#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace mirrortrain::data {

/// The number of batches of so many examples; the last may be short, or is dropped.
constexpr std::int64_t batches_of(std::int64_t examples, std::int64_t batch_size, bool drops_remainder = false) {
  return drops_remainder ? examples / batch_size : (examples + batch_size - 1) / batch_size;
}

/// Fills `rows` with 0 .. size - 1 in an epoch's order: a pure function of the arguments, the same on every machine.
void shuffled_rows(std::uint64_t seed, std::int64_t epoch, std::span<std::int64_t> rows);

/// The order of a data set's examples in each epoch, divided into global batches. Epochs are counted from 1. A batch
/// never crosses the end of an epoch: the last one is smaller, or dropped with `drop_remainder`.
class Order {
 public:
  /// Workers whose parts of a batch come from their own examples. An epoch visits every worker's examples, in batches
  /// in which each worker has its part, until one has too few; the remaining examples are distributed over all workers.
  struct Shards {
    std::vector<std::int64_t> parts;  ///< each worker's rows of a full batch; none: all share all examples
    std::vector<int> worker_of;       ///< the worker that has each example; none: every worker has all
  };

  struct Options {
    std::int64_t batch_size = 0;  ///< global
    bool shuffle = false;         ///< a new order of the whole set in each epoch
    bool drop_remainder = false;
    std::uint64_t seed = 0;
    Shards shards{};
    /// The group with which each example shares batches, if there are no shards; none: a single group. Examples are
    /// assigned to their groups in order; whenever a group has a full batch, it is the next. The remainders follow at
    /// the end, group by group.
    std::vector<int> group_of{};
  };

  /// Where the next batch begins: sufficient for resuming exactly there.
  struct Position {
    std::int64_t epoch = 1;
    std::int64_t examples = 0;  ///< of this epoch, before this position
    int workers = 1;            ///< number of workers over which its examples are distributed; 1 if all share them
    friend bool operator==(const Position&, const Position&) = default;
  };

  struct Batch {
    std::span<const std::int64_t> rows;   ///< valid until the next call
    std::span<const std::int64_t> ahead;  ///< the rows of this batch and of the next two in its epoch
    Position position;                    ///< where it begins
    bool ends_epoch = false;
  };

  /// Throws Error if an epoch would have no batch.
  Order(std::int64_t examples, const Options& options);

  /// The next batch. Does not allocate.
  Batch next();

  const Position& position() const { return position_; }
  /// Moves to a position of an Order with the same examples and options. Throws Error for a position without a batch.
  /// If the epoch's examples were distributed over another number of workers, the rest of the epoch has other batches;
  /// the fraction of the epoch is kept.
  void seek(const Position& position);

  std::int64_t batches_per_epoch() const;
  /// The number of examples, whether or not an epoch visits all of them.
  std::int64_t examples() const { return static_cast<std::int64_t>(rows_.size()); }
  /// The number of workers over which the examples are distributed; 1 if all share them.
  int workers() const { return std::max(1, static_cast<int>(options_.shards.parts.size())); }
  /// How often an epoch visits each example.
  int repeats() const { return options_.shards.worker_of.empty() ? workers() : 1; }
  /// How many epochs were shuffled so far: one for each that is entered, wherever.
  std::int64_t shuffles() const { return shuffles_; }
  /// The number of examples that an epoch visits; fewer than all with `drop_remainder`.
  std::int64_t examples_per_epoch() const;

 private:
  void begin_epoch(std::int64_t epoch);
  void make_order(std::int64_t epoch);
  void deal(std::int64_t epoch);
  void group();

  Options options_;
  std::vector<std::vector<std::int64_t>> owned_;  // rows of each worker, in ascending order; none if all share all
  std::vector<std::int64_t> rows_;                // the order of the epoch of position_
  Position position_;
  bool is_begun_ = false;  // whether rows_ has that order
  std::int64_t shuffles_ = 0;
};

}  // namespace mirrortrain::data
