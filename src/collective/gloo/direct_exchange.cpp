#include "collective/gloo/direct_exchange.h"

#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "collective/process_group.h"

namespace mirrortrain {
namespace {

using Buffer = gloo::transport::UnboundBuffer;

/// Begins with the next rank: not all send to the same one first.
template <class Work>
void for_others(const gloo::Context& context, const Work& work) {
  for (int step = 1; step < context.size; ++step) work((context.rank + step) % context.size);
}

void wait_for_sends(const gloo::Context& context, Buffer& buffer, int count) {
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

void add_in_parts(gloo::Context& context, const Elements& elements, AddElements add, std::vector<std::byte>& received,
                  std::uint64_t slot) {
  const int rank = context.rank, size = context.size;
  const std::size_t element = elements.bytes() / elements.count;
  const auto first = [&](int part) {
    return elements.count * static_cast<std::size_t>(part) / static_cast<std::size_t>(size);
  };
  const auto offset = [&](int part) { return first(part) * element; };
  const auto bytes = [&](int part) { return offset(part + 1) - offset(part); };
  const auto place = [&](int other) { return static_cast<std::size_t>(other) * bytes(rank); };
  if (received.size() < place(size)) received.resize(place(size));

  const auto whole = context.createUnboundBuffer(elements.data, elements.bytes());
  const auto own = context.createUnboundBuffer(received.data(), place(size));
  for_others(context, [&](int other) { own->recv(other, slot, place(other), bytes(rank)); });
  // The sums too, so that they come without another delay: a rank sends them once it has got this rank's elements,
  // whose place they take.
  for_others(context, [&](int other) { whole->recv(other, slot + 1, offset(other), bytes(other)); });
  for_others(context, [&](int other) { whole->send(other, slot, offset(other), bytes(other)); });
  receive_from_others(context, *own);

  std::byte* const result = elements.data + offset(rank);
  std::byte* const partial = received.data() + place(rank);  // nobody sends to this place
  const auto part = [&](int other) { return other == rank ? result : received.data() + place(other); };
  const std::size_t count = bytes(rank) / element;
  add(partial, part(0), part(1), count);
  for (int other = 2; other < size - 1; ++other) add(partial, partial, part(other), count);
  add(result, partial, part(size - 1), count);

  for_others(context, [&](int other) { whole->send(other, slot + 1, offset(rank), bytes(rank)); });
  // Who has not sent a sum may itself wait for another rank: so this names nobody.
  for_others(context, [&](int) { whole->waitRecv(context.getTimeout()); });
  wait_for_sends(context, *whole, 2 * (size - 1));
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
  for_others(context, [&](int other) { to->recv(other, slot, place(other), bytes); });
  for_others(context, [&](int other) { from->send(other, slot, place(sent_to(other)), bytes); });
  receive_from_others(context, *to);
  wait_for_sends(context, *from, context.size - 1);
}

void receive_from_others(gloo::Context& context, Buffer& buffer) {
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
