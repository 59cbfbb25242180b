#include "simulated_gpu/host_cuda.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "simulated_gpu/host_fiber.h"
#include "simulated_gpu/host_warp.h"

namespace mirrortrain::cuda::host {
namespace {

constexpr unsigned kWarp = 32;
constexpr std::size_t kGuard = 64;

/// Lanes of a warp that exchange values. It is free again when the last of them has read.
struct Meeting {
  unsigned mask = 0, arrived = 0, reading = 0;
  unsigned other_than_zero = 0;  ///< of the lanes that have arrived
  std::source_location place;
  std::array<std::uint64_t, kWarp> values{};
  std::array<unsigned, kWarp> waiting{};
  unsigned waiting_count = 0;
};
using Warp = std::deque<Meeting>;  // several at once where lanes diverge; what waits keeps its place

std::string text_of(const std::source_location& place) {
  const std::string file = place.file_name();
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(place.line());
}

bool same(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

/// Runs blocks. A fiber takes one thread after the other; only one that waits keeps its fiber.
class Runner {
 public:
  void run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& kernel);

  void block_barrier(const std::source_location& place);
  /// Returns read(meeting), when every lane of the mask has arrived there with its value.
  template <class Read>
  auto meet(unsigned mask, std::uint64_t value, const std::source_location& place, Read read);
  std::byte* shared() { return shared_.data(); }
  unsigned lane() const { return thread_ % kWarp; }

 private:
  void run_block();
  void run_threads();
  void take_thread(unsigned thread);
  Fiber* next();
  void wait();
  Meeting& meeting_for(unsigned mask, const std::source_location& place);
  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = what;
  }
  unsigned random(unsigned below) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>((random_ >> 32) * below >> 32);
  }
  static void entry();

  const std::function<void()>* kernel_ = nullptr;
  unsigned threads_ = 0;
  std::vector<std::byte> shared_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<unsigned> idle_, fiber_of_;  // fibers without a thread; by thread: the fiber it waits on
  std::vector<uint3> index_of_;            // threadIdx by thread
  std::vector<unsigned> ready_, at_barrier_;
  std::source_location barrier_;
  std::vector<Warp> warps_;
  unsigned started_ = 0, left_ = 0, step_ = 1, offset_ = 0;
  unsigned thread_ = 0, fiber_ = 0;
  std::uint64_t random_ = 1;
  std::string problem_;
  std::exception_ptr thrown_;
};

thread_local Runner* running = nullptr;

void Runner::entry() {
  Runner& runner = *running;
  Fiber& fiber = *runner.fibers_[runner.fiber_];
  fiber.entered();
  for (;;) {
    runner.run_threads();
    runner.idle_.push_back(runner.fiber_);
    fiber.give_way([]() -> Fiber* { return nullptr; });
  }
}

void Runner::take_thread(unsigned thread) {
  thread_ = thread;
  threadIdx = index_of_[thread];
}

/// On a fiber: runs threads that have not started until there are none.
void Runner::run_threads() {
  while (started_ < threads_) {
    const auto at = std::uint64_t{started_++} * step_ + offset_;
    take_thread(static_cast<unsigned>(at % threads_));
    try {
      (*kernel_)();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    ++left_;
  }
}

/// Chooses the fiber to continue: one that is to start threads, or that of a thread which need not wait any longer;
/// null where there is none, or where the block has failed.
Fiber* Runner::next() {
  if (!problem_.empty() || thrown_) return nullptr;
  // Threads that wait may continue before others have started.
  if (started_ < threads_ && (ready_.empty() || random(2) == 0)) {
    if (idle_.empty()) {
      idle_.push_back(static_cast<unsigned>(fibers_.size()));
      fibers_.emplace_back(std::make_unique<Fiber>())->start_with(&Runner::entry);
    }
    fiber_ = idle_.back();
    idle_.pop_back();
    return fibers_[fiber_].get();
  }
  if (ready_.empty()) return nullptr;
  std::swap(ready_[random(static_cast<unsigned>(ready_.size()))], ready_.back());
  const unsigned thread = ready_.back();
  ready_.pop_back();
  return fibers_[fiber_of_[thread]].get();
}

void Runner::wait() {
  const unsigned thread = thread_, fiber = fiber_;
  fiber_of_[thread] = fiber;
  fibers_[fiber]->give_way([this] { return next(); });
  fiber_ = fiber;
  take_thread(thread);
}

void Runner::block_barrier(const std::source_location& place) {
  if (at_barrier_.empty()) barrier_ = place;
  if (!same(barrier_, place)) fail("threads of a block wait at " + text_of(barrier_) + " and at " + text_of(place));
  at_barrier_.push_back(thread_);
  if (at_barrier_.size() == threads_) {
    ready_.insert(ready_.end(), at_barrier_.begin(), at_barrier_.end());
    at_barrier_.clear();
  }
  wait();
}

Meeting& Runner::meeting_for(unsigned mask, const std::source_location& place) {
  Warp& warp = warps_[thread_ / kWarp];
  for (Meeting& open : warp) {
    if (open.arrived != 0 && open.mask == mask && same(open.place, place)) return open;
  }
  for (Meeting& free : warp) {
    if (free.arrived == 0 && free.reading == 0) return free;
  }
  return warp.emplace_back();
}

template <class Read>
auto Runner::meet(unsigned mask, std::uint64_t value, const std::source_location& place, Read read) {
  const unsigned bit = 1u << lane();
  if ((mask & bit) == 0) throw Error("a lane is not in its own mask at " + text_of(place));
  Meeting& meeting = meeting_for(mask, place);
  if (meeting.arrived == 0) {
    meeting.mask = mask;
    meeting.place = place;
    meeting.other_than_zero = 0;
  }
  meeting.values[lane()] = value;
  if (value != 0) meeting.other_than_zero |= bit;
  meeting.arrived |= bit;
  meeting.waiting[meeting.waiting_count++] = thread_;
  if (meeting.arrived == mask) {
    ready_.insert(ready_.end(), meeting.waiting.begin(), meeting.waiting.begin() + meeting.waiting_count);
    meeting.waiting_count = 0;
    meeting.arrived = 0;
    meeting.reading = mask;
  }
  wait();
  const auto found = read(std::as_const(meeting));
  meeting.reading &= ~bit;
  return found;
}

void Runner::run_block() {
  std::memset(shared_.data(), 0xff, shared_.size());
  started_ = left_ = 0;
  do step_ = 1 + random(threads_);
  while (std::gcd(step_, threads_) != 1);
  offset_ = random(threads_);
  while (Fiber* const fiber = next()) fiber->resume();
  if (thrown_) std::rethrow_exception(thrown_);
  if (!problem_.empty()) throw Error(problem_);
  if (left_ < threads_) {
    std::string text = std::to_string(left_) + " of " + std::to_string(threads_) + " threads have left the block";
    if (!at_barrier_.empty())
      text += ", " + std::to_string(at_barrier_.size()) + " wait for them at the barrier " + text_of(barrier_);
    for (const Warp& warp : warps_) {
      for (const Meeting& meeting : warp) {
        if (meeting.arrived != 0)
          text += ", " + std::to_string(meeting.waiting_count) + " wait for lanes at " + text_of(meeting.place);
      }
    }
    throw Error(text);
  }
  for (std::size_t i = shared_.size() - kGuard; i < shared_.size(); ++i) {
    if (shared_[i] != std::byte{0xff}) throw Error("a block wrote past its dynamic shared memory");
  }
}

void Runner::run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& kernel) {
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  threads_ = block.x * block.y * block.z;
  if (blocks == 0 || threads_ == 0 || threads_ > 1024 || grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffffu ||
      shared_bytes > 48 * 1024) {
    throw Error("a device refuses a grid of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                std::to_string(grid.z) + " blocks of " + std::to_string(threads_) + " threads with " +
                std::to_string(shared_bytes) + " bytes of shared memory");
  }
  kernel_ = &kernel;
  shared_.resize((shared_bytes + 15) / 16 * 16 + kGuard);
  fiber_of_.assign(threads_, 0);
  ready_.clear();
  at_barrier_.clear();
  warps_.resize(std::max<std::size_t>(warps_.size(), (threads_ + kWarp - 1) / kWarp));  // all meetings are free
  problem_.clear();
  gridDim = grid;
  blockDim = block;
  index_of_.clear();
  for (unsigned z = 0; z < block.z; ++z) {
    for (unsigned y = 0; y < block.y; ++y) {
      for (unsigned x = 0; x < block.x; ++x) index_of_.push_back({x, y, z});
    }
  }
  const bool backwards = random(2) == 0;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t number = backwards ? blocks - 1 - i : i;
    blockIdx = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
                static_cast<unsigned>(number / grid.x / grid.y)};
    run_block();
  }
}

/// One per OS thread. A launch that failed leaves fibers in the middle of a kernel, so it takes its runner with it.
std::unique_ptr<Runner>& runner_of_this_thread() {
  thread_local std::unique_ptr<Runner> runner;
  if (!runner) runner = std::make_unique<Runner>();
  return runner;
}

}  // namespace

void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& kernel) {
  std::unique_ptr<Runner>& runner = runner_of_this_thread();
  running = runner.get();
  try {
    runner->run(grid, block, shared_bytes, kernel);
  } catch (...) {
    running = nullptr;
    runner.reset();
    throw;
  }
  running = nullptr;
}

std::byte* dynamic_shared() { return running->shared(); }
void block_barrier(const std::source_location& place) { running->block_barrier(place); }
int lane() { return static_cast<int>(running->lane()); }

std::uint64_t exchange(unsigned mask, std::uint64_t value, int source_lane, const std::source_location& place) {
  if (source_lane < 0 || source_lane >= static_cast<int>(kWarp) || (mask >> source_lane & 1) == 0)
    throw Error("a lane reads from one outside the mask at " + text_of(place));
  return running->meet(mask, value, place, [source_lane](const Meeting& meeting) {
    return meeting.values[static_cast<std::size_t>(source_lane)];
  });
}

std::array<std::uint64_t, 32> exchange_all(std::uint64_t value, const std::source_location& place) {
  return running->meet(0xffffffffu, value, place, [](const Meeting& meeting) { return meeting.values; });
}

unsigned ballot(unsigned mask, bool value, const std::source_location& place) {
  return running->meet(mask, value, place, [](const Meeting& meeting) { return meeting.other_than_zero; });
}

}  // namespace mirrortrain::cuda::host
