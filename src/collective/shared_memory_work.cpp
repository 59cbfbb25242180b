#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "collective/stage_work.h"

namespace mirrortrain {
namespace {

/// Partial sums of a block stay in the nearest cache, and a copy of a block does not bypass the caches, as memcpy does
/// from several megabytes on.
constexpr std::size_t kBlock = 1024;

/// Calls work(block) for each block of a shard.
template <class Work>
void for_each_block(Shard shard, const Work& work) {
  for (Shard block{shard.begin, 0}; block.begin < shard.end; block.begin = block.end) {
    block.end = std::min(block.begin + kBlock, shard.end);
    work(block);
  }
}

void copy_block(DType dtype, std::byte* to, const std::byte* from, Shard block) {
  const std::size_t size = size_of(dtype);
  std::memcpy(to + block.begin * size, from + block.begin * size, block.size() * size);
}

template <class T>
void sum_block(std::span<std::byte* const> terms, std::span<std::byte* const> to, Shard block) {
  const std::size_t count = block.size();
  const auto at = [&](std::byte* data) { return reinterpret_cast<T*>(data) + block.begin; };
  const auto copy_to = [&](std::span<std::byte* const> targets, const T* total) {
    for (std::byte* const target : targets) std::copy_n(total, count, at(target));
  };
  if (terms.size() == 2) {  // the most frequent case
    const T *const a = at(terms[0]), *const b = at(terms[1]);
    T* const total = at(to[0]);
#pragma GCC ivdep  // total may be a or b, element by element
    for (std::size_t i = 0; i < count; ++i) total[i] = a[i] + b[i];
    return copy_to(to.subspan(1), total);
  }
  alignas(64) T total[kBlock];
  std::copy_n(at(terms[0]), count, total);
  for (std::byte* const term : terms.subspan(1)) {
    const T* __restrict elements = at(term);
    for (std::size_t i = 0; i < count; ++i) total[i] += elements[i];
  }
  copy_to(to, total);
}

/// to[k][i] = ((terms[0][i] + terms[1][i]) + terms[2][i]) + ... for every k. `to` may name any of the terms.
void sum_block(DType dtype, std::span<std::byte* const> terms, std::span<std::byte* const> to, Shard block) {
  switch (dtype) {
    case DType::kFloat32: return sum_block<float>(terms, to, block);
    case DType::kFloat64: return sum_block<double>(terms, to, block);
    case DType::kInt32: return sum_block<std::int32_t>(terms, to, block);
    case DType::kInt64: return sum_block<std::int64_t>(terms, to, block);
    default: throw Error(fmt::format("ranks cannot sum {} {}", kWrongElements, name_of(dtype)));
  }
}

/// to[i] += term[i]
void add_block(DType dtype, std::byte* to, std::byte* term, Shard block) {
  const std::array<std::byte*, 2> both = {to, term};
  sum_block(dtype, both, std::span(both).first(1), block);
}

/// Stores the sum in the first of the terms.
void sum_block_as_tree(DType dtype, std::span<std::byte* const> terms, Shard block) {
  for (std::size_t distance = 1; distance < terms.size(); distance *= 2) {
    for (std::size_t i = 0; i + distance < terms.size(); i += 2 * distance) {
      add_block(dtype, terms[i], terms[i + distance], block);
    }
  }
}

class SharedMemoryWork : public StageWork {
 public:
  void combine(AggregationMethod method, DType dtype, std::span<std::byte* const> terms, std::span<std::byte* const> to,
               Shard shard) const override {
    for_each_block(shard, [&](Shard block) {
      if (method == AggregationMethod::kAddN) return sum_block(dtype, terms, to, block);
      std::byte* const total = method == AggregationMethod::kTree ? terms[0] : to[0];
      if (method == AggregationMethod::kTree) {
        sum_block_as_tree(dtype, terms, block);
      } else {
        for (std::byte* const term : terms) {
          if (term != total) add_block(dtype, total, term, block);
        }
      }
      for (std::byte* const target : to) {
        if (target != total) copy_block(dtype, target, total, block);
      }
    });
  }

  void copy(DType dtype, std::byte* to, const std::byte* from, Shard shard) const override {
    for_each_block(shard, [&](Shard block) { copy_block(dtype, to, from, block); });
  }
};

}  // namespace

const StageWork& shared_memory_work() {
  static const SharedMemoryWork work;
  return work;
}

}  // namespace mirrortrain
