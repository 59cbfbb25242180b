#include "collective/gloo/eager_exchange.h"

#include <cstring>

#include "collective/gloo/direct_exchange.h"
#include "collective/gloo/exchange_header.h"
#include "collective/gloo/slots.h"
#include "collective/gloo/small_message.h"
#include "collective/other_ranks.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kBoxes = 2;

}  // namespace

EagerExchange::EagerExchange(gloo::Context& context, int rank, int size)
    : context_(context),
      rank_(rank),
      size_(size),
      stride_(sizeof(ExchangeHeader) + largest_small_message(size)),
      boxes_(kBoxes) {
  const std::size_t bytes = place(size);
  for (Box& box : boxes_) {
    box.sent.resize(bytes);
    box.received.resize(bytes);
    box.to = context.createUnboundBuffer(box.sent.data(), bytes);
    box.from = context.createUnboundBuffer(box.received.data(), bytes);
  }
  for (std::uint64_t number = 0; number < kBoxes; ++number) post(number);
}

const std::byte* EagerExchange::from(int other) const {
  return boxes_[last_].received.data() + place(other) + sizeof(ExchangeHeader);
}

void EagerExchange::post(std::uint64_t number) {
  for (int other = 0; other < size_; ++other) {
    if (other != rank_) boxes_[number % kBoxes].from->recv(other, exchange_slot(number), place(other), stride_);
  }
}

EagerExchange::Box& EagerExchange::begin() {
  if (next_ > 0) post(next_ + kBoxes - 1);  // the box of the exchange before, whose messages are used by now
  return boxes_[next_ % kBoxes];
}

void EagerExchange::exchange(const CollectiveCall& call, const std::byte* message, std::size_t bytes) {
  Box& box = begin();
  const ExchangeHeader header = header_of(call, bytes, next_);
  std::memcpy(box.sent.data(), header.data(), sizeof header);
  if (bytes > 0) std::memcpy(box.sent.data() + sizeof header, message, bytes);
  for_others(rank_, size_, [&](int other) { box.to->send(other, exchange_slot(next_), 0, sizeof header + bytes); });
  end(call, box, bytes);
}

void EagerExchange::exchange_parts(const CollectiveCall& call, const std::byte* messages, std::size_t bytes) {
  Box& box = begin();
  const ExchangeHeader header = header_of(call, bytes, next_);
  for_others(rank_, size_, [&](int other) {
    std::byte* const to = box.sent.data() + place(other);
    std::memcpy(to, header.data(), sizeof header);
    if (bytes > 0) std::memcpy(to + sizeof header, messages + static_cast<std::size_t>(other) * bytes, bytes);
    box.to->send(other, exchange_slot(next_), place(other), sizeof header + bytes);
  });
  end(call, box, bytes);
}

void EagerExchange::end(const CollectiveCall& call, Box& box, std::size_t bytes) {
  // Receives first: gloo does not wake a send that was half done when the connection ended.
  receive_from_others(context_, *box.from);
  for (int step = 1; step < size_; ++step) box.to->waitSend(context_.getTimeout());
  const ExchangeHeader header = header_of(call, bytes, next_);
  last_ = next_++ % kBoxes;
  for (int other = 0; other < size_; ++other) {
    if (other != rank_) require_header(call, header, other, box.received.data() + place(other));
  }
}

}  // namespace mirrortrain
