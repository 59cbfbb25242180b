#include "collective/gloo/eager_exchange.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "collective/gloo/small_message.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kBoxes = 2;

/// Before each message: ranks that are in different operations must not add each other's bytes.
using Header = std::array<std::uint64_t, 8>;

Header header_of(const CollectiveCall& call, std::size_t bytes) {
  return {bytes, static_cast<std::uint64_t>(call.operation), static_cast<std::uint64_t>(call.elements.dtype)};
}

/// Not one of gloo's own operations, which have a number in the upper byte, nor of the greetings.
std::uint64_t slot_of(std::uint64_t number) { return number << 8 | 3; }

}  // namespace

EagerExchange::EagerExchange(gloo::Context& context, int rank, int size)
    : context_(context),
      rank_(rank),
      size_(size),
      stride_(sizeof(Header) + largest_small_message(size)),
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
  return boxes_[last_].received.data() + place(other) + sizeof(Header);
}

void EagerExchange::post(std::uint64_t number) {
  for (int other = 0; other < size_; ++other) {
    if (other != rank_) boxes_[number % kBoxes].from->recv(other, slot_of(number), place(other), stride_);
  }
}

void EagerExchange::exchange(const CollectiveCall& call, std::size_t bytes,
                             const std::function<const std::byte*(int other)>& message_for) {
  if (next_ > 0) post(next_ + kBoxes - 1);  // the box of the exchange before, whose messages are used by now
  Box& box = boxes_[next_ % kBoxes];
  const Header header = header_of(call, bytes);
  // Not all to the same one first.
  for (int step = 1; step < size_; ++step) {
    const int other = (rank_ + step) % size_;
    std::byte* const to = box.sent.data() + place(other);
    std::memcpy(to, header.data(), sizeof header);
    if (bytes > 0) std::memcpy(to + sizeof header, message_for(other), bytes);
    box.to->send(other, slot_of(next_), place(other), sizeof header + bytes);
  }
  // Receives first: gloo does not wake a send that was half done when the connection ended.
  for (int step = 1; step < size_; ++step) box.from->waitRecv(context_.getTimeout());
  for (int step = 1; step < size_; ++step) box.to->waitSend(context_.getTimeout());
  last_ = next_++ % kBoxes;
  for (int other = 0; other < size_; ++other) {
    if (other == rank_ || std::memcmp(box.received.data() + place(other), header.data(), sizeof header) == 0) continue;
    throw Error(fmt::format("{}: rank {} is in another operation", call.text(), other));
  }
}

}  // namespace mirrortrain
