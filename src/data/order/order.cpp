#include "data/order/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/philox.h"

namespace mirrortrain::data {
namespace {

constexpr std::int64_t kMostExamples = std::int64_t{1} << 32;

// The random words of one epoch, four for each Philox block.
class Words {
 public:
  Words(std::uint64_t seed, std::int64_t epoch)
      : philox_(Philox::with_key(seed ^ hash_of_name("order of examples"))),
        epoch_(static_cast<std::uint64_t>(epoch)) {}

  std::uint32_t next() {
    if (used_ == 4) {
      words_ = philox_(static_cast<std::uint32_t>(counter_), static_cast<std::uint32_t>(counter_ >> 32),
                       static_cast<std::uint32_t>(epoch_), static_cast<std::uint32_t>(epoch_ >> 32));
      ++counter_;
      used_ = 0;
    }
    return words_.word[used_++];
  }

  // In [0, bound), bound at most 2^32, by multiplication. The relative bias is at most 2^-16.
  std::uint64_t below(std::uint64_t bound) {
    if (bound <= (1u << 16)) return std::uint64_t{next()} * bound >> 32;
    const std::uint64_t high = next(), low = next();
    return (high * bound + (low * bound >> 32)) >> 32;
  }

 private:
  Philox philox_;
  std::uint64_t epoch_, counter_ = 0;
  Philox::Words words_{};
  int used_ = 4;
};

/// Each worker's order has its own seed; the remainder shared by all has that of one worker more.
std::uint64_t seed_of_worker(std::uint64_t seed, std::size_t worker) {
  return seed ^ hash_of_name("examples of worker " + std::to_string(worker));
}

}  // namespace

void shuffled_rows(std::uint64_t seed, std::int64_t epoch, std::span<std::int64_t> rows) {
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  Words words(seed, epoch);
  for (std::size_t left = rows.size(); left > 1; --left) std::swap(rows[left - 1], rows[words.below(left)]);
}

Order::Order(std::int64_t examples, const Options& options) : options_(options) {
  const std::int64_t examples_of_epoch = examples * repeats();
  if (options.batch_size < 1)
    throw Error(fmt::format("the batch size must be at least 1, found {}", options.batch_size));
  if (examples < 1) throw Error("there are no examples to go through; the data has zero rows");
  if (examples > kMostExamples / workers())
    throw Error(fmt::format("{} examples are more than {}", examples, kMostExamples));
  if (options.drop_remainder && examples_of_epoch < options.batch_size) {
    throw Error(
        fmt::format("data.drop_remainder leaves no batch: {} examples are less than the global batch of {}; use a "
                    "smaller data.global_batch_size or drop_remainder: false",
                    examples, options.batch_size));
  }
  const Shards& shards = options.shards;
  owned_.resize(shards.parts.size());
  for (std::int64_t row = 0; !owned_.empty() && row < examples; ++row) {
    if (!shards.worker_of.empty()) {
      owned_[static_cast<std::size_t>(shards.worker_of[static_cast<std::size_t>(row)])].push_back(row);
    } else {
      for (auto& rows : owned_) rows.push_back(row);
    }
  }
  rows_.resize(static_cast<std::size_t>(examples_of_epoch));
  position_ = {1, 0, workers()};
}

Order::Batch Order::next() {
  if (!is_begun_) make_order(position_.epoch);
  if (position_.examples == examples_per_epoch()) begin_epoch(position_.epoch + 1);
  const std::int64_t count = std::min(options_.batch_size, examples_per_epoch() - position_.examples);
  Batch batch{std::span<const std::int64_t>(rows_).subspan(static_cast<std::size_t>(position_.examples),
                                                           static_cast<std::size_t>(count)),
              {},
              position_};
  const std::int64_t ahead = std::min(3 * options_.batch_size, examples_per_epoch() - position_.examples);
  batch.ahead = std::span<const std::int64_t>(rows_).subspan(static_cast<std::size_t>(position_.examples),
                                                             static_cast<std::size_t>(ahead));
  position_.examples += count;
  batch.ends_epoch = position_.examples == examples_per_epoch();
  return batch;
}

void Order::seek(const Position& saved) {
  Position position = saved;
  if (saved.workers != workers() && saved.workers > 0 && options_.shards.worker_of.empty()) {
    const std::int64_t batches = saved.examples * workers() / saved.workers / options_.batch_size;
    position.examples = std::min(batches * options_.batch_size, examples_per_epoch());
  }
  position.workers = workers();
  if (position.epoch < 1 || position.examples < 0 || position.examples > examples_per_epoch()) {
    throw Error(
        fmt::format("example {} of epoch {} is not in this data of {} examples per epoch; has the data changed?",
                    position.examples, position.epoch, examples_per_epoch()));
  }
  // Its order is made when it is needed: a run seeks before its first step, and once.
  is_begun_ = is_begun_ && position_.epoch == position.epoch;
  position_ = position;
}

std::int64_t Order::batches_per_epoch() const {
  return batches_of(examples(), options_.batch_size, options_.drop_remainder);
}

std::int64_t Order::examples_per_epoch() const {
  const auto examples = static_cast<std::int64_t>(rows_.size());
  return options_.drop_remainder ? examples - examples % options_.batch_size : examples;
}

void Order::deal(std::int64_t epoch) {
  const std::vector<std::int64_t>& parts = options_.shards.parts;
  const auto shuffled = [&](std::vector<std::int64_t> rows, std::size_t worker) {
    if (!options_.shuffle) return rows;
    std::vector<std::int64_t> order(rows.size());
    shuffled_rows(seed_of_worker(options_.seed, worker), epoch, order);
    for (std::int64_t& place : order) place = rows[static_cast<std::size_t>(place)];
    return order;
  };
  std::vector<std::vector<std::int64_t>> orders;
  std::size_t batches = rows_.size();  // in which every worker has its part
  for (std::size_t worker = 0; worker < parts.size(); ++worker) {
    orders.push_back(shuffled(owned_[worker], worker));
    if (parts[worker] > 0) batches = std::min(batches, orders.back().size() / static_cast<std::size_t>(parts[worker]));
  }
  rows_.clear();
  const auto append = [&](std::size_t worker, std::size_t first, std::size_t last, std::vector<std::int64_t>& to) {
    const auto begin = orders[worker].begin();
    to.insert(to.end(), begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last));
  };
  for (std::size_t batch = 0; batch < batches; ++batch) {
    for (std::size_t worker = 0; worker < parts.size(); ++worker) {
      const auto part = static_cast<std::size_t>(parts[worker]);
      append(worker, batch * part, (batch + 1) * part, rows_);
    }
  }
  std::vector<std::int64_t> left;
  for (std::size_t worker = 0; worker < parts.size(); ++worker) {
    append(worker, batches * static_cast<std::size_t>(parts[worker]), orders[worker].size(), left);
  }
  left = shuffled(std::move(left), parts.size());
  rows_.insert(rows_.end(), left.begin(), left.end());
}

void Order::group() {
  std::map<int, std::vector<std::int64_t>> waiting;
  auto next = rows_.begin();  // never ahead of the examples that were distributed
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::vector<std::int64_t>& rows = waiting[options_.group_of[static_cast<std::size_t>(rows_[i])]];
    rows.push_back(rows_[i]);
    if (static_cast<std::int64_t>(rows.size()) < options_.batch_size) continue;
    next = std::ranges::copy(rows, next).out;
    rows.clear();
  }
  for (const auto& [group, rows] : waiting) next = std::ranges::copy(rows, next).out;
}

/// Makes the order of the epoch, in which the position stays.
void Order::make_order(std::int64_t epoch) {
  const bool is_first = shuffles_++ == 0;  // where nothing is shuffled, the order of all epochs
  if (!owned_.empty()) {
    if (options_.shuffle || is_first) deal(epoch);
  } else if (options_.shuffle) {
    shuffled_rows(options_.seed, epoch, rows_);
  } else if (is_first) {
    std::iota(rows_.begin(), rows_.end(), std::int64_t{0});
  }
  if (!options_.group_of.empty() && (options_.shuffle || is_first)) group();
  is_begun_ = true;
}

void Order::begin_epoch(std::int64_t epoch) {
  make_order(epoch);
  position_ = {epoch, 0, workers()};
}

}  // namespace mirrortrain::data
