#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "device/device.h"

namespace mirrortrain {

/// Elements in a rank's memory, seen as one flat row. Never owns.
struct Elements {
  DType dtype = DType::kFloat32;
  std::byte* data = nullptr;
  std::size_t count = 0;
  std::string_view what = {};  ///< names them where an operation fails; outlives the communicator

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

/// Shards are whole cache lines of floats, so that two ranks never write to one line.
inline constexpr std::size_t kShardGrain = 16;

/// `count` elements, rounded up to such pieces.
constexpr std::int64_t whole_shards(std::int64_t count) {
  constexpr auto kGrain = static_cast<std::int64_t>(kShardGrain);
  return (count + kGrain - 1) / kGrain * kGrain;
}

/// The part of `count` elements that a rank reduces: even parts, in multiples of kShardGrain; the last may be shorter
/// or empty.
Shard shard_of(std::size_t count, int rank, int size);

/// One rank's end of a group of ranks, memory domains or workers of the run, in this process or others. Operations are
/// enqueued on the rank's stream, as work that the host does not wait for: they start when what was enqueued before is
/// done and every other rank's stream has reached them. Every rank enqueues the same operations in the same order with
/// the same number of elements, from one thread at a time, and on one stream, or on several that wait for each other.
/// Elements are float32, float64, int32 or int64, and bfloat16 where nothing is added; they stay in place until the
/// operation is done. Sums are in a fixed order, so the same inputs give the same bits, and every rank gets the same
/// ones. Nothing is allocated per operation.
///
/// Where a rank fails, the group is aborted, times out, or its ranks disagree about an operation, what is enqueued ends
/// without a useful result. The next operation throws Error with the reason then, as `check` and `synchronize` do; on a
/// CPU's stream, where the work is done at once, so does the operation itself. From then on the group is of no use, and
/// no rank may free its elements before every rank has synchronized.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Memory of the rank's device that it holds for the operations itself; a library's own is not known.
  virtual std::size_t bytes() const { return 0; }

  /// Memory whose elements this rank's `all_reduce` adds without copying them about; empty where it has none, as then
  /// on every rank. Called by every rank alike, with the same sizes in the same order. May outlive this.
  virtual Buffer allocate(std::size_t /*bytes*/) { return {}; }

  /// Every rank's elements become their sum over the ranks.
  virtual void all_reduce(Stream& stream, Elements elements) = 0;
  /// Every rank's elements are one part for each rank, all of the same length, in the ranks' order; every rank gets
  /// every other rank's own part.
  virtual void all_gather(Stream& stream, Elements elements) = 0;
  /// Every rank's elements are one part for each rank, all of the same length, in the ranks' order; part r goes to rank
  /// r. `received`: of as many elements, gets every rank's part for this one, in the ranks' order.
  virtual void all_to_all(Stream& stream, Elements elements, std::byte* received) = 0;

  /// Throws Error where something has failed so far.
  virtual void check() = 0;
  /// Returns when everything enqueued on the stream is done. Throws Error where something failed, and where an
  /// operation waits for longer than the group's timeout. Streams that wait for other ranks are waited for here:
  /// Stream::synchronize never returns where a rank does not reach the operation.
  virtual void synchronize(Stream& stream) = 0;
  /// Makes every rank's current and later operations end and throw Error(reason). Called by the thread that drives this
  /// rank or, on a CPU, by any lane of its domain.
  virtual void abort(const std::string& reason) = 0;
};

/// A group's ranks of this process, in their order; they live as long as `owner`.
struct Communicators {
  std::shared_ptr<void> owner;
  std::vector<Communicator*> ranks;
};

/// Ranks without a group object.
Communicators owned(std::vector<std::unique_ptr<Communicator>> ranks);

}  // namespace mirrortrain
