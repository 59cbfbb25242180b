#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/dtype.h"
#include "base/tensor_view.h"

namespace mirrortrain {

/// Elements in a rank's memory, seen as one flat row. Never owns.
struct Elements {
  DType dtype = DType::kFloat32;
  std::byte* data = nullptr;
  std::size_t count = 0;

  Elements() = default;
  Elements(const TensorView& view)
      : dtype(view.dtype), data(view.data), count(static_cast<std::size_t>(view.elements())) {}
  template <class T>
  Elements(std::span<T> elements)
      : dtype(kDTypeOf<T>), data(reinterpret_cast<std::byte*>(elements.data())), count(elements.size()) {}

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

/// The part of `count` elements that a rank reduces: even parts, in multiples of 16 elements; the last may be shorter
/// or empty.
Shard shard_of(std::size_t count, int rank, int size);

/// One rank's end of a group of ranks (lanes). Every rank calls the same operations in the same order with the same
/// number of elements; elements are float32, float64, int32 or int64. Sums are in a fixed order, so the same inputs
/// give the same bits, and every rank gets the same ones. Operations throw Error where the group was aborted, timed
/// out, or the ranks disagree about an operation; the group is then aborted, and no rank may free its elements before
/// every rank has returned.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Whether the operations may be captured and replayed with the step.
  virtual bool capturable() const = 0;

  /// Every rank's elements become the sum over the ranks.
  virtual void all_reduce(Elements elements) = 0;
  /// The rank's own shard becomes the sum over the ranks; the other shards hold nothing of use afterwards.
  virtual void reduce_scatter(Elements elements) = 0;
  /// Every rank gets every other rank's shard.
  virtual void all_gather(Elements elements) = 0;
  /// Every rank gets the root's elements.
  virtual void broadcast(Elements elements, int root) = 0;
  /// Returns when every rank is here.
  virtual void barrier() = 0;
  /// Makes every rank's current and later operations throw Error(reason).
  virtual void abort(const std::string& reason) = 0;
};

}  // namespace mirrortrain
