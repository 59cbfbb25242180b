#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/tensor_view.h"
#include "device/device.h"

namespace mirrortrain {

/// Elements in a rank's memory, seen as one flat row. Never owns.
struct Elements {
  DType dtype = DType::kFloat32;
  std::byte* data = nullptr;
  std::size_t count = 0;
  std::string_view what = {};  ///< tells them from others where an operation fails; outlives the communicator

  Elements() = default;
  Elements(const TensorView& view)
      : dtype(view.dtype), data(view.data), count(static_cast<std::size_t>(view.elements())) {}
  template <class T>
  Elements(std::span<T> elements)
      : dtype(kDTypeOf<T>), data(reinterpret_cast<std::byte*>(elements.data())), count(elements.size()) {}

  Elements named(std::string_view name) const {
    Elements same = *this;
    same.what = name;
    return same;
  }
  std::size_t bytes() const { return count * size_of(dtype); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// The elements [begin, end).
struct Shard {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

/// Shards are whole cache lines of floats, so that two ranks never write to one line.
inline constexpr std::size_t kShardGrain = 16;

/// The part of `count` elements that a rank reduces: even parts, in multiples of kShardGrain; the last may be shorter
/// or empty.
Shard shard_of(std::size_t count, int rank, int size);

/// One rank's end of a group of ranks (lanes). Operations are enqueued on the rank's stream, as work that the host does
/// not wait for: they start when what was enqueued before is done and every other rank's stream has come to them. Every
/// rank enqueues the same operations in the same order with the same number of elements, from one thread at a time, and
/// on one stream, or on several that wait for each other. Elements are float32, float64, int32 or int64, and stay where
/// they are until the operation is done. Sums are in a fixed order, so the same inputs give the same bits, and every
/// rank gets the same ones. Nothing is allocated per operation.
///
/// Where a rank fails, the group is aborted, times out, or its ranks disagree about an operation, what is enqueued ends
/// without a result of use. The next operation throws Error with the reason then, as `check` and `synchronize` do; on a
/// CPU's stream, where the work is done at once, so does the operation itself. From then on the group is of no use, and
/// no rank may free its elements before every rank has synchronized.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Whether the operations may be captured and replayed with the step.
  virtual bool capturable() const = 0;
  /// Of the rank's device, what it holds for the operations itself; a library's own is not known.
  virtual std::size_t bytes() const { return 0; }

  /// Every rank's `to` becomes the sum of `from` over the ranks. `from` is `to` (in place), or apart from it, of its
  /// type and as long.
  virtual void all_reduce(Stream& stream, Elements from, Elements to) = 0;
  void all_reduce(Stream& stream, Elements elements) { all_reduce(stream, elements, elements); }
  /// The rank's own shard becomes the sum over the ranks; the other shards hold nothing of use afterwards.
  virtual void reduce_scatter(Stream& stream, Elements elements) = 0;
  /// Every rank gets every other rank's shard.
  virtual void all_gather(Stream& stream, Elements elements) = 0;
  /// Every rank gets the root's elements, of any type.
  virtual void broadcast(Stream& stream, Elements elements, int root) = 0;

  /// Throws Error where something went wrong so far.
  virtual void check() = 0;
  /// Returns when everything enqueued on the stream is done. Throws Error where something went wrong, and where an
  /// operation waits for longer than the group's timeout. A stream that waits for other ranks is to be waited for here:
  /// Stream::synchronize never returns where a rank does not come.
  virtual void synchronize(Stream& stream) = 0;
  /// Makes every rank's current and later operations end and throw Error(reason). Called by the thread that drives this
  /// rank.
  virtual void abort(const std::string& reason) = 0;
};

/// A group's ranks, in their order; they live as long as `owner`.
struct Communicators {
  std::shared_ptr<void> owner;
  std::vector<Communicator*> ranks;
};

/// Their addresses, in their order.
std::vector<Communicator*> pointers_to(const std::vector<std::unique_ptr<Communicator>>& ranks);

/// Ranks that no group owns.
Communicators owned(std::vector<std::unique_ptr<Communicator>> ranks);

}  // namespace mirrortrain
