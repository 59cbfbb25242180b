#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/round_up.h"
#include "device/device.h"

namespace mirrortrain {

/// What errors say of an element type that an operation cannot have, and of a rank that is late; tests of every
/// implementation, some of which need GPUs, expect these words.
inline constexpr std::string_view kWrongElements = "elements of type";
inline constexpr std::string_view kLateRank = "did not reach";

/// A flat array of elements in a rank's memory. Not owning.
struct Elements {
  DType dtype = DType::kFloat32;
  std::byte* data = nullptr;
  std::size_t count = 0;
  std::string_view what = {};  ///< names them in errors; outlives the communicator

  Elements() = default;
  template <class T>
  Elements(std::span<T> elements, std::string_view name = {})
      : dtype(kDTypeOf<T>), data(reinterpret_cast<std::byte*>(elements.data())), count(elements.size()), what(name) {}

  std::size_t bytes() const { return count * size_of(dtype); }
};

/// The elements [begin, end).
struct Shard {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

/// Shards are whole cache lines of floats, so that two ranks never write to the same line.
inline constexpr std::size_t kShardGrain = 16;

/// `count` rounded up to a multiple of kShardGrain.
constexpr std::int64_t whole_shards(std::int64_t count) {
  return round_up(count, static_cast<std::int64_t>(kShardGrain));
}

/// The part of `count` elements that a rank reduces: even parts, in multiples of kShardGrain; the last may be shorter
/// or empty.
Shard shard_of(std::size_t count, int rank, int size);

/// One rank of a group of ranks, which are memory domains or workers of the run, in this process or others. Operations
/// are enqueued on the rank's stream and are asynchronous to the host: they start when all earlier work is done and
/// every other rank's stream has reached them. Every rank enqueues the same operations in the same order with the same
/// number of elements, from one thread at a time, and on one stream, or on several that wait for each other. Elements
/// are float32, float64, int32 or int64, or bfloat16 where nothing is added; they must stay in place until the
/// operation is done. Sums are in a fixed order, so results are bitwise reproducible and equal on every rank. Nothing
/// is allocated per operation.
///
/// If a rank fails, the group is aborted or times out, or its ranks disagree about an operation, enqueued operations
/// end with undefined results. The next operation then throws Error with the reason, as do `check` and `synchronize`;
/// on a CPU's stream, which is synchronous, so does the operation itself. After that the group cannot be used, and no
/// rank may free its elements before every rank has synchronized.
class Communicator {
 public:
  /// Operations that can be enqueued before the first is done, more than a host is ahead of its streams. The next one
  /// waits.
  static constexpr std::size_t kMostAhead = 64;

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Whether elements travel while the rank computes; else its own cores copy them, and nothing is gained by beginning
  /// early.
  virtual bool travels() const { return true; }
  /// Device memory that it allocated for the operations, without a library's own.
  virtual std::size_t bytes() const { return 0; }

  /// Memory whose elements `all_reduce` adds without extra copies; empty on every rank if unavailable. Called by every
  /// rank with the same sizes in the same order. May outlive this.
  virtual Buffer allocate(std::size_t /*bytes*/) { return {}; }

  /// Replaces every rank's elements by their sum over the ranks.
  virtual void all_reduce(Stream& stream, Elements elements) = 0;
  /// Every rank's elements consist of one part per rank, all of the same length, in rank order; every rank receives
  /// every other rank's own part.
  virtual void all_gather(Stream& stream, Elements elements) = 0;
  /// Every rank's elements consist of one part per rank, all of the same length, in rank order; part r is sent to rank
  /// r. `received`, of as many elements, receives every rank's part for this one, in rank order.
  virtual void all_to_all(Stream& stream, Elements elements, std::byte* received) = 0;

  /// In a group of two: the other rank receives the elements of rank `from`, 0 or 1, of any type. Throws Error in other
  /// groups, and where a group has no such operation.
  virtual void transfer(Stream& stream, Elements elements, int from);

  /// Seconds that the thread which enqueues has waited in operations so far, for the other ranks and their elements: on
  /// a CPU's inline streams, whose operations are done when they return.
  virtual double waited_seconds() const { return 0; }

  /// Throws Error if anything has failed so far.
  virtual void check() = 0;
  /// Returns when everything enqueued on the stream is done. Throws Error if anything failed or an operation waits
  /// longer than the group's timeout. Use it for streams that wait for other ranks: Stream::synchronize never returns
  /// if a rank does not reach the operation.
  virtual void synchronize(Stream& stream) = 0;
  /// Whether everything enqueued on the stream is done, which may also wait for operations of other groups. Throws
  /// Error if anything of this group failed or waits longer than its timeout. Returns at once where operations wait on
  /// a device; else synchronizes.
  virtual bool poll(Stream& stream) {
    synchronize(stream);
    return true;
  }
  /// Makes every rank's current and later operations fail with Error(reason). Called by the thread that drives this
  /// rank or, on a CPU, by any lane of its domain.
  virtual void abort(const std::string& reason) = 0;
};

/// This process's ranks of a group, in order; valid as long as `owner`.
struct Communicators {
  std::shared_ptr<void> owner;
  std::vector<Communicator*> ranks;
};

/// Ranks without a group object.
Communicators owned(std::vector<std::unique_ptr<Communicator>> ranks);

/// Throws Error if the rank is in no group of two, or `from` is none of its ranks: for Communicator::transfer.
void require_pair(const Communicator& rank, const Elements& elements, int from);

}  // namespace mirrortrain
