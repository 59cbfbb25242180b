#include "collective/peer/peer_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kAligned = 64 / sizeof(float);

float* floats(std::byte* data, std::size_t begin) { return reinterpret_cast<float*>(data) + begin; }

}  // namespace

PeerWork::PeerWork(Device& device, const StepKernels& kernels, std::size_t ranks, std::size_t bytes)
    : kernels_(kernels),
      blocks_(device.allocate(std::max(bytes, (ranks + 1) * kAligned * sizeof(float)))),
      slot_elements_(blocks_.bytes() / sizeof(float) / (ranks + 1) / kAligned * kAligned),
      here_(ranks),
      order_(ranks),
      sources_(ranks) {}

void PeerWork::start(Stream& stream, std::byte* mine) {
  stream_ = &stream;
  mine_ = mine;
}

void PeerWork::copy(DType dtype, std::byte* to, const std::byte* from, Shard shard) const {
  const std::size_t size = size_of(dtype);
  if (shard.size() > 0) stream_->copy(to + shard.begin * size, from + shard.begin * size, shard.size() * size);
}

void PeerWork::sum(std::span<const float* const> terms, float* to, std::size_t count) const {
  for (std::size_t i = 0; i < terms.size(); ++i) sources_[i] = {terms[i], 1};
  kernels_.sum_sources(*stream_, std::span(sources_).first(terms.size()), to, 0, static_cast<std::int64_t>(count));
}

void PeerWork::combine(AggregationMethod method, DType dtype, std::span<std::byte* const> terms,
                       std::span<std::byte* const> to, Shard shard) const {
  if (dtype != DType::kFloat32) {
    throw Error(fmt::format("ranks on GPUs sum float32 elements by copies, not {}; use nccl", name_of(dtype)));
  }
  for (Shard block{shard.begin, 0}; block.begin < shard.end; block.begin = block.end) {
    block.end = std::min(block.begin + slot_elements_, shard.end);
    combine_block(method, terms, to, block);
  }
}

void PeerWork::combine_block(AggregationMethod method, std::span<std::byte* const> terms,
                             std::span<std::byte* const> to, Shard block) const {
  const auto bytes = block.size() * sizeof(float);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool is_mine = terms[i] == mine_;
    here_[i] = is_mine ? floats(mine_, block.begin) : slot(i);
    if (is_mine) continue;
    stream_->copy(reinterpret_cast<std::byte*>(here_[i]), reinterpret_cast<std::byte*>(floats(terms[i], block.begin)),
                  bytes);
  }

  float* total = std::find(to.begin(), to.end(), mine_) != to.end() ? floats(mine_, block.begin) : slot(terms.size());
  if (method == AggregationMethod::kTree) {
    total = here_[0];
    for (std::size_t distance = 1; distance < terms.size(); distance *= 2) {
      for (std::size_t i = 0; i + distance < terms.size(); i += 2 * distance) {
        sum(std::array<const float*, 2>{here_[i], here_[i + distance]}, here_[i], block.size());
      }
    }
  } else {
    std::copy_n(here_.begin(), terms.size(), order_.begin());
    if (method == AggregationMethod::kAccumulateN) {
      const auto first = std::find(terms.begin(), terms.end(), to[0]) - terms.begin();
      std::rotate(order_.begin(), order_.begin() + first, order_.begin() + first + 1);
    }
    sum(std::span(order_).first(terms.size()), total, block.size());
  }

  for (std::byte* const target : to) {
    auto* const there = reinterpret_cast<std::byte*>(floats(target, block.begin));
    if (there != reinterpret_cast<std::byte*>(total)) stream_->copy(there, reinterpret_cast<std::byte*>(total), bytes);
  }
}

}  // namespace mirrortrain
