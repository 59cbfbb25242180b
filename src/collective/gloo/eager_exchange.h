#pragma once

#include <gloo/context.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collective/call_barrier.h"

namespace mirrortrain {

/// Small messages that all ranks send each other at the same time, in one delay of the network. gloo sends a message
/// only once it knows that its receive is posted, which is another delay: so these receives are posted two exchanges
/// ahead. A rank can be at most one exchange ahead of another, whose message it needs for its own next one.
class EagerExchange {
 public:
  /// All ranks make it at the same time, and use it for the same exchanges. The context must outlive it.
  EagerExchange(gloo::Context& context, int rank, int size);

  /// Sends the `bytes` at `message`, which are small (is_small_message), to every other rank, and returns when all of
  /// theirs have come. Throws Error if a rank is in another operation than `call`, Unreachable if messages have not
  /// come in time, and what gloo throws.
  void exchange(const CollectiveCall& call, const std::byte* message, std::size_t bytes);
  /// The same with a message for each rank: `bytes` each at `messages`, by rank.
  void exchange_parts(const CollectiveCall& call, const std::byte* messages, std::size_t bytes);
  /// The message of another rank, until the next exchange.
  const std::byte* from(int other) const;

 private:
  struct Box {
    std::vector<std::byte> sent, received;
    std::unique_ptr<gloo::transport::UnboundBuffer> to, from;
  };
  std::size_t place(int rank) const { return static_cast<std::size_t>(rank) * stride_; }
  void post(std::uint64_t number);
  Box& begin();
  void end(const CollectiveCall& call, Box& box, std::size_t bytes);

  gloo::Context& context_;
  const int rank_, size_;
  const std::size_t stride_;  ///< bytes of the largest message with its header
  std::vector<Box> boxes_;
  std::uint64_t next_ = 0;  ///< number of exchanges so far
  std::size_t last_ = 0;    ///< the last one's box
};

}  // namespace mirrortrain
