#include "collective/gloo/direct_exchange.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "collective/other_ranks.h"
#include "collective/process_group.h"

namespace mirrortrain {
namespace {

void wait_for_sends(const gloo::Context& context, gloo::transport::UnboundBuffer& buffer, int count) {
  for (int i = 0; i < count; ++i) buffer.waitSend(context.getTimeout());
}

void add_other(gloo::Context& context, const Elements& elements, AddElements add, std::vector<std::byte>& received,
               std::uint64_t slot) {
  const int other = 1 - context.rank;
  if (received.size() < elements.bytes()) received.resize(elements.bytes());
  const auto to = context.createUnboundBuffer(received.data(), elements.bytes());
  const auto from = context.createUnboundBuffer(elements.data, elements.bytes());
  to->recv(other, slot);
  from->send(other, slot);
  receive_from_others(context, *to);
  wait_for_sends(context, *from, 1);  // before the sum takes the place of what is sent
  const std::byte* const first = context.rank == 0 ? elements.data : received.data();
  const std::byte* const second = context.rank == 0 ? received.data() : elements.data;
  add(elements.data, first, second, elements.count);
}

/// The elements of an array by rank and piece: each rank adds a part, in so many pieces that the sums of one are on the
/// way while the next is received.
class Pieces {
 public:
  Pieces(const Elements& elements, int ranks)
      : count_(elements.count), ranks_(static_cast<std::size_t>(ranks)), element_(elements.bytes() / elements.count) {
    constexpr std::size_t kPiece = 64 << 10, kMost = 8;
    pieces_ = std::clamp<std::size_t>(elements.bytes() / ranks_ / kPiece, 1, kMost);
  }
  std::size_t pieces() const { return pieces_; }
  /// Where a piece of a rank's part begins, in bytes; that of the piece after the last one is the part's end.
  std::size_t offset(int rank, std::size_t piece) const {
    const std::size_t begin = first_of(rank), length = first_of(rank + 1) - begin;
    return (begin + length * piece / pieces_) * element_;
  }
  std::size_t bytes(int rank, std::size_t piece) const { return offset(rank, piece + 1) - offset(rank, piece); }
  std::size_t part_bytes(int rank) const { return offset(rank, pieces_) - offset(rank, 0); }
  std::size_t elements(int rank, std::size_t piece) const { return bytes(rank, piece) / element_; }

 private:
  std::size_t first_of(int rank) const { return count_ * static_cast<std::size_t>(rank) / ranks_; }

  std::size_t count_, ranks_, element_, pieces_;
};

void add_in_parts(gloo::Context& context, const Elements& elements, AddElements add, std::vector<std::byte>& received,
                  std::uint64_t slot) {
  const int rank = context.rank, size = context.size;
  const Pieces all(elements, size);
  const auto place = [&](int other, std::size_t piece) {
    return static_cast<std::size_t>(other) * all.part_bytes(rank) + all.offset(rank, piece) - all.offset(rank, 0);
  };
  if (received.size() < place(size, 0)) received.resize(place(size, 0));

  const auto whole = context.createUnboundBuffer(elements.data, elements.bytes());
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> own;  // by piece of this rank's part
  for (std::size_t piece = 0; piece < all.pieces(); ++piece) {
    const std::uint64_t to_add = slot + 2 * piece, sum = to_add + 1;
    own.push_back(context.createUnboundBuffer(received.data(), place(size, 0)));
    for_others(rank, size,
               [&](int other) { own[piece]->recv(other, to_add, place(other, piece), all.bytes(rank, piece)); });
    // The sums too, so that they come without another delay: a rank sends them once it has got this rank's elements,
    // whose place they take.
    for_others(rank, size,
               [&](int other) { whole->recv(other, sum, all.offset(other, piece), all.bytes(other, piece)); });
  }
  for (std::size_t piece = 0; piece < all.pieces(); ++piece) {
    for_others(rank, size, [&](int other) {
      whole->send(other, slot + 2 * piece, all.offset(other, piece), all.bytes(other, piece));
    });
  }
  for (std::size_t piece = 0; piece < all.pieces(); ++piece) {
    receive_from_others(context, *own[piece]);
    std::byte* const result = elements.data + all.offset(rank, piece);
    std::byte* const partial = received.data() + place(rank, piece);  // nobody sends to this place
    const auto of = [&](int other) { return other == rank ? result : received.data() + place(other, piece); };
    const std::size_t count = all.elements(rank, piece);
    add(partial, of(0), of(1), count);
    for (int other = 2; other < size - 1; ++other) add(partial, partial, of(other), count);
    add(result, partial, of(size - 1), count);
    for_others(rank, size, [&](int other) {
      whole->send(other, slot + 2 * piece + 1, all.offset(rank, piece), all.bytes(rank, piece));
    });
  }
  const int messages = (size - 1) * static_cast<int>(all.pieces());
  // Who has not sent a sum may itself wait for another rank: so this names nobody.
  for (int i = 0; i < messages; ++i) whole->waitRecv(context.getTimeout());
  wait_for_sends(context, *whole, 2 * messages);
}

}  // namespace

void add_directly(gloo::Context& context, const Elements& elements, AddElements add, std::vector<std::byte>& received,
                  std::uint64_t slot) {
  if (elements.count == 0) return;
  if (context.size == 2) return add_other(context, elements, add, received, slot);
  add_in_parts(context, elements, add, received, slot);
}

void exchange_parts(gloo::Context& context, std::byte* data, std::byte* received, std::size_t bytes,
                    const std::function<int(int)>& sent_to, std::uint64_t slot) {
  const auto place = [bytes](int part) { return static_cast<std::size_t>(part) * bytes; };
  const auto from = context.createUnboundBuffer(data, place(context.size));
  const auto to = context.createUnboundBuffer(received, place(context.size));
  for_others(context.rank, context.size, [&](int other) { to->recv(other, slot, place(other), bytes); });
  for_others(context.rank, context.size, [&](int other) { from->send(other, slot, place(sent_to(other)), bytes); });
  receive_from_others(context, *to);
  wait_for_sends(context, *from, context.size - 1);
}

void send(gloo::Context& context, const Elements& elements, int from, std::uint64_t slot) {
  if (elements.count == 0) return;
  const auto buffer = context.createUnboundBuffer(elements.data, elements.bytes());
  if (context.rank == from) {
    buffer->send(1 - from, slot);
    return wait_for_sends(context, *buffer, 1);
  }
  buffer->recv(from, slot);
  receive_from_others(context, *buffer);
}

void receive_from_others(gloo::Context& context, gloo::transport::UnboundBuffer& buffer) {
  const auto begin = std::chrono::steady_clock::now();
  const auto timeout = context.getTimeout();
  std::vector<bool> has_come(static_cast<std::size_t>(context.size));
  has_come[static_cast<std::size_t>(context.rank)] = true;
  try {
    for (int step = 1; step < context.size; ++step) {
      int from = context.rank;
      buffer.waitRecv(&from, timeout);
      has_come[static_cast<std::size_t>(from)] = true;
    }
  } catch (const std::exception& error) {
    if (std::chrono::steady_clock::now() - begin < timeout * 9 / 10) throw;  // a connection has ended, say
    std::vector<int> missing;
    for (int other = 0; other < context.size; ++other) {
      if (!has_come[static_cast<std::size_t>(other)]) missing.push_back(other);
    }
    throw Unreachable(error.what(), std::move(missing));
  }
}

}  // namespace mirrortrain
