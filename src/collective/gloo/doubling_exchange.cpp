#include "collective/gloo/doubling_exchange.h"

#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "collective/gloo/exchange_header.h"
#include "collective/gloo/slots.h"
#include "collective/gloo/small_message.h"

namespace mirrortrain {

DoublingExchange::DoublingExchange(gloo::Context& context, int rank, int size)
    : context_(context), rank_(rank), size_(size), stride_(sizeof(ExchangeHeader) + largest_small_message(size)) {
  blocks_.resize(static_cast<std::size_t>(size) * stride_);
  sent_ = context.createUnboundBuffer(blocks_.data(), blocks_.size());
  for (Box& box : boxes_) {
    for (int step = 0; step < doubling_steps(size); ++step) {
      Receive& receive = box.emplace_back();
      receive.blocks.resize(static_cast<std::size_t>(blocks_of(step)) * stride_);
      receive.buffer = context.createUnboundBuffer(receive.blocks.data(), receive.blocks.size());
    }
  }
  for (std::uint64_t number = 0; number < boxes_.size(); ++number) post(number);
}

/// In each step as many as a rank has by then, or as it lacks.
int DoublingExchange::blocks_of(int step) const { return std::min(1 << step, size_ - (1 << step)); }

const std::byte* DoublingExchange::from(int other) const {
  return blocks_.data() + static_cast<std::size_t>((other - rank_ + size_) % size_) * block_ + sizeof(ExchangeHeader);
}

void DoublingExchange::post(std::uint64_t number) {
  int distance = 1;
  for (Receive& receive : boxes_[number % boxes_.size()]) {
    receive.buffer->recv(at_distance(distance), exchange_slot(number), 0, receive.blocks.size());
    distance *= 2;
  }
}

void DoublingExchange::exchange(const CollectiveCall& call, const std::byte* message, std::size_t bytes) {
  if (next_ > 0) post(next_ + 1);  // the box of the exchange before, whose messages are used by now
  const ExchangeHeader header = header_of(call, bytes, next_);
  block_ = sizeof header + bytes;
  std::memcpy(blocks_.data(), header.data(), sizeof header);
  if (bytes > 0) std::memcpy(blocks_.data() + sizeof header, message, bytes);
  const Box& box = boxes_[next_ % boxes_.size()];
  for (int step = 0; step < static_cast<int>(box.size()); ++step) {
    const std::size_t moved = static_cast<std::size_t>(blocks_of(step)) * block_;
    sent_->send(at_distance(-(1 << step)), exchange_slot(next_), 0, moved);
    const Receive& receive = box[static_cast<std::size_t>(step)];
    receive.buffer->waitRecv(context_.getTimeout());
    std::memcpy(blocks_.data() + (std::size_t{1} << step) * block_, receive.blocks.data(), moved);
  }
  for (std::size_t step = 0; step < box.size(); ++step) sent_->waitSend(context_.getTimeout());
  ++next_;
  for (int other = 0; other < size_; ++other) require_header(call, header, other, from(other) - sizeof header);
}

void gather_by_doubling(gloo::Context& context, std::byte* data, std::size_t bytes, std::uint64_t slot) {
  const int size = context.size, rank = context.rank, steps = doubling_steps(size);
  // Calls work(slot, offset, length) for the parts of `count` ranks from `first` on: in two pieces where these wrap.
  const auto for_pieces = [&](int first, int count,
                              const std::function<void(std::uint64_t, std::size_t, std::size_t)>& work) {
    const int before_end = std::min(count, size - first);
    work(slot, static_cast<std::size_t>(first) * bytes, static_cast<std::size_t>(before_end) * bytes);
    if (before_end < count) work(slot + 1, 0, static_cast<std::size_t>(count - before_end) * bytes);
  };
  const auto count_of = [&](int step) { return std::min(1 << step, size - (1 << step)); };
  const auto sent = context.createUnboundBuffer(data, static_cast<std::size_t>(size) * bytes);
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> received;
  // All receives first: gloo sends once it knows of them.
  for (int step = 0; step < steps; ++step) {
    const int from = (rank + (1 << step)) % size;
    auto& buffer = received.emplace_back(context.createUnboundBuffer(data, static_cast<std::size_t>(size) * bytes));
    for_pieces(from, count_of(step), [&](std::uint64_t at, std::size_t offset, std::size_t length) {
      buffer->recv(from, at, offset, length);
    });
  }
  int sends = 0;
  for (int step = 0; step < steps; ++step) {
    const int to = (rank + size - (1 << step)) % size, from = (rank + (1 << step)) % size;
    for_pieces(rank, count_of(step), [&](std::uint64_t at, std::size_t offset, std::size_t length) {
      sent->send(to, at, offset, length);
      ++sends;
    });
    for_pieces(from, count_of(step), [&](std::uint64_t, std::size_t, std::size_t) {
      received[static_cast<std::size_t>(step)]->waitRecv(context.getTimeout());
    });
  }
  for (int i = 0; i < sends; ++i) sent->waitSend(context.getTimeout());
}

}  // namespace mirrortrain
