#pragma once

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "collective/call_barrier.h"

namespace mirrortrain {

// Exchanges of large arrays between ranks of which each has a connection to each other one (of few: kMostDirectRanks).
// Receives are posted before sends: gloo sends once it knows that a receive is posted, and the notification would queue
// behind this rank's own data otherwise. Each throws Unreachable, with the ranks from which nothing has come, where
// messages have not come within the context's timeout, and what gloo throws.

/// sum[i] = a[i] + b[i] for `count` elements; sum may be a or b.
using AddElements = void (*)(void* sum, const void* a, const void* b, std::size_t count);

/// Adds the elements of all ranks in rank order. Two ranks send each other everything, in two delays of the network.
/// Of more, each rank receives its part of the elements from every other one, adds, and sends the sums to all: the
/// bytes of a ring all-reduce in 3 delays, where gloo's ring has 4 for each other rank. `received` is scratch memory
/// that may be kept. This operation's slots begin with `slot`, a number of its own above the lowest byte.
void add_directly(gloo::Context& context, const Elements& elements, AddElements add, std::vector<std::byte>& received,
                  std::uint64_t slot);

/// Every other rank receives the part `sent_to(rank)` of `data`, at this rank's place in its `received`, which may be
/// its own data; a part has `bytes`. gloo's own alltoall and allgather take 2 and 1.5 times as long between two ranks.
void exchange_parts(gloo::Context& context, std::byte* data, std::byte* received, std::size_t bytes,
                    const std::function<int(int)>& sent_to, std::uint64_t slot);

/// Of two ranks: the other one receives the elements of rank `from`.
void send(gloo::Context& context, const Elements& elements, int from, std::uint64_t slot);

/// Waits until one message has come from every other rank.
void receive_from_others(gloo::Context& context, gloo::transport::UnboundBuffer& buffer);

}  // namespace mirrortrain
