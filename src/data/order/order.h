#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace mirrortrain::data {

/// Fills `rows` with 0 .. size - 1 in the order of an epoch: a pure function of the arguments, the same on every
/// machine.
void shuffled_rows(std::uint64_t seed, std::int64_t epoch, std::span<std::int64_t> rows);

/// The order of a data set's examples, epoch after epoch, cut into global batches. Epochs count from 1. A batch never
/// crosses the end of an epoch: the last one is short, or left out with `drop_remainder`.
class Order {
 public:
  /// Workers whose parts of a batch come from examples of their own. An epoch goes through every worker's, in batches
  /// in which each has its part, for as long as none lacks examples; what is left then is dealt to all.
  struct Shards {
    std::vector<std::int64_t> parts;  ///< rows of a full batch that each worker takes; none: all share all examples
    std::vector<int> worker_of;       ///< whose each example is; none: every worker has all
  };

  struct Options {
    std::int64_t batch_size = 0;  ///< global
    bool shuffle = false;         ///< a new order of the whole set each epoch
    bool drop_remainder = false;
    std::uint64_t seed = 0;
    Shards shards{};
    /// Whom each example shares batches with, where there are no shards; none: all are alike. The order deals examples
    /// to their groups; whenever one holds a full batch, it is the next. What is left at the end follows group by
    /// group.
    std::vector<int> group_of{};
  };

  /// Where the next batch begins: enough to resume exactly from there.
  struct Position {
    std::int64_t epoch = 1;
    std::int64_t examples = 0;  ///< of this epoch, already given out
    int workers = 1;            ///< among how many its examples are dealt; 1 where all share them
    friend bool operator==(const Position&, const Position&) = default;
  };

  struct Batch {
    std::span<const std::int64_t> rows;   ///< valid until the next call
    std::span<const std::int64_t> ahead;  ///< those of this batch and of the next two of its epoch
    Position position;                    ///< where it begins
    bool ends_epoch = false;
  };

  /// Throws Error where an epoch would have no batch.
  Order(std::int64_t examples, const Options& options);

  /// The next batch. Allocates nothing.
  Batch next();

  const Position& position() const { return position_; }
  /// Goes to where an Order of the same examples and options once was. Throws Error for a place that has no batch. With
  /// another number of workers than had the epoch's examples dealt among them, the rest of the epoch has other batches;
  /// its share of the epoch is kept.
  void seek(const Position& position);

  std::int64_t batches_per_epoch() const;
  /// Those of an epoch, whether or not it gives all of them out.
  std::int64_t examples() const { return static_cast<std::int64_t>(rows_.size()); }
  /// Among how many workers the examples are dealt; 1 where all share them.
  int workers() const { return std::max(1, static_cast<int>(options_.shards.parts.size())); }
  /// How often an epoch has each example.
  int repeats() const { return options_.shards.worker_of.empty() ? workers() : 1; }
  /// Those that an epoch gives out; fewer than there are with `drop_remainder`.
  std::int64_t examples_per_epoch() const;

 private:
  void begin_epoch(std::int64_t epoch);
  void deal(std::int64_t epoch);
  void group();

  Options options_;
  std::vector<std::vector<std::int64_t>> owned_;  // rows of each worker, in ascending order; none where all share all
  std::vector<std::int64_t> rows_;                // the order of the epoch of position_
  Position position_;
};

}  // namespace mirrortrain::data
