#pragma once

#include <gloo/context.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collective/call_barrier.h"

namespace mirrortrain {

// All-gathers of many ranks, each of which is connected to those at the distances 1, 2, 4, ... alone: in step k a rank
// passes on what it has to the one 2^k before it and gets as much from the one 2^k behind it. As many bytes as all with
// all, in doubling_steps(size) messages.
//   Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications in multiport
//   message-passing systems (1997)

/// Small messages, whose receives are posted ahead: see EagerExchange.
class DoublingExchange {
 public:
  /// All ranks make it at the same time, and use it for the same exchanges. The context must outlive it.
  DoublingExchange(gloo::Context& context, int rank, int size);

  /// Shares the `bytes` at `message`, which are small (is_small_message), with every other rank, and returns when all
  /// of theirs have come. Throws Error if a rank is in another operation than `call`, and what gloo throws.
  void exchange(const CollectiveCall& call, const std::byte* message, std::size_t bytes);
  /// The message of another rank, until the next exchange.
  const std::byte* from(int other) const;

 private:
  struct Receive {
    std::vector<std::byte> blocks;
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
  };
  using Box = std::vector<Receive>;  ///< by step

  int blocks_of(int step) const;
  int at_distance(int distance) const { return (rank_ + size_ + distance) % size_; }
  void post(std::uint64_t number);

  gloo::Context& context_;
  const int rank_, size_;
  const std::size_t stride_;       ///< bytes of the largest block: a message with its header
  std::vector<std::byte> blocks_;  ///< of this rank and those behind it, in this order
  std::unique_ptr<gloo::transport::UnboundBuffer> sent_;
  std::array<Box, 2> boxes_;
  std::uint64_t next_ = 0;  ///< number of exchanges so far
  std::size_t block_ = 0;   ///< bytes of a block in the last one
};

/// Every rank gets every other rank's part, of `bytes`, at its place in `data`. `slot` and the one after
/// it are this operation's.
void gather_by_doubling(gloo::Context& context, std::byte* data, std::size_t bytes, std::uint64_t slot);

}  // namespace mirrortrain
