#include "collective/shared_memory/shared_memory_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/futex.h"
#include "base/relax.h"
#include "collective/call_barrier.h"
#include "collective/host_communicator.h"
#include "collective/shared_memory/segment.h"
#include "collective/stage_work.h"

namespace mirrortrain {
namespace {

/// Small enough to stay in two ranks' caches, large enough that barriers cost little compared with copying.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
/// Double buffering: a rank fills one while others still read the other.
constexpr std::size_t kBuffers = 2;
/// A waiting rank spins for as long as running ranks may need, then sleeps, as in Barrier.
constexpr std::chrono::microseconds kSpinTime{100};
/// How often a sleeping rank checks whether the operation has failed.
constexpr std::chrono::milliseconds kSleep{10};

class SharedMemoryCommunicator : public HostCommunicator {
 public:
  SharedMemoryCommunicator(int rank, int size, double timeout_seconds, std::unique_ptr<SharedSegment> segment,
                           RendezvousStore rendezvous, OperationWatch watch)
      : HostCommunicator(rank, size, std::move(watch)),
        timeout_seconds_(timeout_seconds),
        segment_(std::move(segment)),
        rendezvous_(std::move(rendezvous)),
        terms_(static_cast<std::size_t>(size)) {}

  bool travels() const override { return false; }

  Buffer allocate(std::size_t bytes) override {
    if (bytes == 0) return {};
    const std::string what = fmt::format("shared memory {}", ++allocations_);
    std::shared_ptr<SharedSegment> memory = SharedSegment::open(rank(), size(), {1, bytes}, rendezvous_, what);
    if (!memory) return {};
    allocated_.push_back(memory);
    return {memory->buffer(rank()), bytes, [memory](std::byte*) {}};
  }

 protected:
  void perform(const CollectiveCall& call) override {
    const Elements& elements = call.elements;
    announce(call);
    const std::size_t item = size_of(elements.dtype);
    const auto ranks = static_cast<std::size_t>(size());
    const bool adds = call.operation == CollectiveCall::Operation::kAllReduce;
    const bool deals = call.operation == CollectiveCall::Operation::kAllToAll;
    const bool sends = call.operation == CollectiveCall::Operation::kTransfer;
    if (const SharedSegment* const place = adds ? allocation_of(elements) : nullptr)
      return add_in_place(elements, *place);
    const std::size_t count = adds || sends ? elements.count : elements.count / ranks;
    const std::size_t most = segment_->buffer_bytes() / item / (deals ? ranks : 1);
    for (std::size_t first = 0; first < count; first += most) {
      const Shard part{first, std::min(count, first + most)};
      if (adds) {
        add(elements, part);
      } else if (deals) {
        deal(elements, count, part, call.received);
      } else if (sends) {
        send(elements, part, call.from);
      } else {
        gather(elements, count, part);
      }
    }
  }
  void interrupt(const std::string&) override {}  // a waiting rank checks for failure

 private:
  using Clock = std::chrono::steady_clock;

  /// Called before the operation's first barrier, at which the ranks' operations are compared.
  void announce(const CollectiveCall& call) {
    call_ = &call;
    segment_->phase(rank()).calls[++calls_ % 2] = {static_cast<std::uint8_t>(call.operation),
                                                   static_cast<std::uint8_t>(call.elements.dtype),
                                                   static_cast<std::uint8_t>(call.from), call.elements.count};
  }

  /// Throws Error if another rank is in another operation.
  void compare() {
    const CollectiveCall& own = *std::exchange(call_, nullptr);
    for (int other = 0; other < size(); ++other) {
      const SharedSegment::Call& announced = segment_->phase(other).calls[calls_ % 2];
      CollectiveCall theirs;
      theirs.operation = static_cast<CollectiveCall::Operation>(announced.operation);
      theirs.elements.dtype = static_cast<DType>(announced.dtype);
      theirs.elements.count = announced.count;
      theirs.from = announced.from;
      if (own.fits(theirs)) continue;
      throw Error(fmt::format("rank {} is in {}, but rank {} in {}", rank(), own.text(), other, theirs.text()));
    }
  }

  void add(const Elements& elements, Shard part) {
    const std::size_t item = size_of(elements.dtype);
    std::byte* const own = elements.data + part.begin * item;
    const std::size_t which = next_buffer_++ % kBuffers;
    std::memcpy(segment_->buffer(rank(), which), own, part.size() * item);
    wait_for_others();
    for (int other = 0; other < size(); ++other) {
      terms_[static_cast<std::size_t>(other)] = segment_->buffer(other, which);
    }
    // Until its sum is complete, only the rank itself reads its shard.
    std::byte* const total = segment_->buffer(rank(), which);
    shared_memory_work().combine(AggregationMethod::kAddN, elements.dtype, terms_, std::span(&total, 1),
                                 shard_of(part.size(), rank(), size()));
    wait_for_others();
    for (int other = 0; other < size(); ++other) {
      const Shard shard = shard_of(part.size(), other, size());
      std::memcpy(own + shard.begin * item, segment_->buffer(other, which) + shard.begin * item, shard.size() * item);
    }
  }

  /// The memory from `allocate` that contains the elements; null if none does.
  const SharedSegment* allocation_of(const Elements& elements) const {
    for (const auto& memory : allocated_) {
      const std::byte* const begin = memory->buffer(rank());
      // std::less, because the pointers may be into different objects.
      if (!std::less<>()(elements.data, begin) && std::less<>()(elements.data, begin + memory->buffer_bytes())) {
        return memory.get();
      }
    }
    return nullptr;
  }

  /// Each rank adds its shard of all ranks' elements, and writes the sum to all ranks.
  void add_in_place(const Elements& elements, const SharedSegment& memory) {
    const std::ptrdiff_t offset = elements.data - memory.buffer(rank());
    for (int other = 0; other < size(); ++other)
      terms_[static_cast<std::size_t>(other)] = memory.buffer(other) + offset;
    wait_for_others();
    shared_memory_work().combine(AggregationMethod::kAddN, elements.dtype, terms_, terms_,
                                 shard_of(elements.count, rank(), size()));
    wait_for_others();
  }

  void gather(const Elements& elements, std::size_t part_count, Shard part) {
    const std::size_t item = size_of(elements.dtype);
    const auto place = [&](int of) {
      return elements.data + (static_cast<std::size_t>(of) * part_count + part.begin) * item;
    };
    const std::size_t which = next_buffer_++ % kBuffers;
    std::memcpy(segment_->buffer(rank(), which), place(rank()), part.size() * item);
    wait_for_others();
    for (int other = 0; other < size(); ++other) {
      if (other != rank()) std::memcpy(place(other), segment_->buffer(other, which), part.size() * item);
    }
    // One of the two buffers may be refilled while others read; no rank is further ahead, because the next barrier
    // waits for all.
  }

  /// Copies the same piece of each rank's part, consecutively in the buffer.
  void deal(const Elements& elements, std::size_t part_count, Shard part, std::byte* received) {
    const std::size_t item = size_of(elements.dtype), bytes = part.size() * item;
    const auto place = [&](int of) { return (static_cast<std::size_t>(of) * part_count + part.begin) * item; };
    const std::size_t which = next_buffer_++ % kBuffers;
    for (int other = 0; other < size(); ++other) {
      std::memcpy(segment_->buffer(rank(), which) + static_cast<std::size_t>(other) * bytes,
                  elements.data + place(other), bytes);
    }
    wait_for_others();
    for (int other = 0; other < size(); ++other) {
      std::memcpy(received + place(other), segment_->buffer(other, which) + static_cast<std::size_t>(rank()) * bytes,
                  bytes);
    }
  }

  void send(const Elements& elements, Shard part, int from) {
    const std::size_t item = size_of(elements.dtype), which = next_buffer_++ % kBuffers;
    std::byte* const own = elements.data + part.begin * item;
    if (rank() == from) std::memcpy(segment_->buffer(from, which), own, part.size() * item);
    wait_for_others();  // the other rank has read the piece before
    if (rank() != from) std::memcpy(own, segment_->buffer(from, which), part.size() * item);
  }

  /// A barrier: returns when every rank has arrived; earlier writes are then visible to all.
  void wait_for_others() {
    // Sequentially consistent, as in wait_for: either this rank sees the sleeper, or the sleeper sees the new phase.
    SharedSegment::Phase& own = segment_->phase(rank());
    own.number.store(++phase_);
    if (own.sleepers.load() > 0) futex_wake_all(own.number, FutexScope::kSharedMemory);
    for (int other = 0; other < size(); ++other) wait_for(other);
    if (call_ != nullptr) compare();
  }

  void wait_for(int other) {
    if (spin_until_come(other)) return;
    SharedSegment::Phase& phase = segment_->phase(other);
    const auto start = Clock::now();
    phase.sleepers.fetch_add(1);
    for (std::uint32_t seen = phase.number.load(); !is_reached(seen); seen = phase.number.load()) {
      if (has_failed() || is_late(start)) break;
      futex_wait(phase.number, seen, kSleep, FutexScope::kSharedMemory);
    }
    phase.sleepers.fetch_sub(1);
    if (is_reached(phase.number.load())) return;
    check();
    throw Error(fmt::format("rank {} {} the operation within {:g} s", other, kLateRank, timeout_seconds_));
  }

  bool spin_until_come(int other) const {
    const auto start = Clock::now();
    do {
      for (int i = 0; i < 200; ++i) {
        if (is_reached(segment_->phase(other).number.load(std::memory_order_acquire))) return true;
        relax();
      }
    } while (Clock::now() - start < kSpinTime);
    return false;
  }

  /// By the sign of the difference, because numbers wrap around.
  bool is_reached(std::uint32_t number) const { return static_cast<std::int32_t>(number - phase_) >= 0; }

  bool is_late(Clock::time_point start) const {
    return timeout_seconds_ > 0 && std::chrono::duration<double>(Clock::now() - start).count() > timeout_seconds_;
  }

  const double timeout_seconds_;
  const std::unique_ptr<SharedSegment> segment_;
  const RendezvousStore rendezvous_;
  std::vector<std::shared_ptr<SharedSegment>> allocated_;
  int allocations_ = 0;
  std::vector<std::byte*> terms_;  ///< by rank
  std::uint32_t phase_ = 0;
  const CollectiveCall* call_ = nullptr;  ///< not yet compared with the others'
  std::size_t calls_ = 0;
  std::size_t next_buffer_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_shared_memory_communicator(int rank, int size, double timeout_seconds,
                                                              const RendezvousStore& rendezvous, OperationWatch watch) {
  auto segment = SharedSegment::open(rank, size, {kBuffers, kBufferBytes}, rendezvous, "shared memory");
  if (!segment) return nullptr;
  return std::make_unique<SharedMemoryCommunicator>(rank, size, timeout_seconds, std::move(segment), rendezvous,
                                                    std::move(watch));
}

std::size_t shared_memory_bytes(int size) { return static_cast<std::size_t>(size) * kBuffers * kBufferBytes; }

}  // namespace mirrortrain
