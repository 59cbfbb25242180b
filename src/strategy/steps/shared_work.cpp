#include "strategy/steps/shared_work.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/relax.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;

/// A lane that is in the middle of a piece for longer is probably not running.
constexpr std::chrono::microseconds kSpinTime{100};
/// Lanes that have cores are not late for longer.
constexpr std::chrono::microseconds kLate{40};
constexpr std::chrono::microseconds kSleep{50};
/// Some time slices of the scheduler. A lane that does not continue within this time is waited for at the barrier,
/// which has a timeout that the user sets and an error that names the lane; it finishes the piece itself.
constexpr std::chrono::milliseconds kLongestWait{20};

}  // namespace

void SharedWork::add_list(int lane, Order order, std::size_t pieces, Run run) {
  auto& list = lists_[static_cast<std::size_t>(lane)];
  list = std::make_unique<List>();
  list->order = order;
  list->pieces = static_cast<std::uint32_t>(pieces);
  list->run = std::move(run);
}

double SharedWork::work(int lane, const Step& step) {
  if (lane >= working_.count()) return 0;
  double waited = 0;
  const std::size_t lanes = lists_.size(), own = static_cast<std::size_t>(lane);
  for (std::size_t i = 0; i < lanes; ++i) {
    List& list = *lists_[(own + i) % lanes];
    if (list.order == Order::kAny) {
      work_in_any_order(list, step);
    } else {
      // If another lane has continued this one's list, it finishes the list.
      work_in_turn(lane, list, step, i == 0 ? nullptr : &waited);
    }
  }
  return waited;
}

void SharedWork::restart(int lane) { lists_[static_cast<std::size_t>(lane)]->next.store(0, std::memory_order_relaxed); }

void SharedWork::work_in_any_order(List& list, const Step& step) {
  std::uint32_t piece = 0;
  while ((piece = list.next.fetch_add(1, std::memory_order_relaxed)) < list.pieces) list.run(piece, step);
}

void SharedWork::work_in_turn(int lane, List& list, const Step& step, double* waited) {
  while (take_next_in_turn(list, waited)) {
    list.lane.store(lane, std::memory_order_relaxed);
    const std::uint32_t state = list.next.load(std::memory_order_relaxed);
    list.run(state / 2, step);
    list.next.store(state + 1, std::memory_order_release);
    if (late_) LateLanes::return_home();
  }
}

SharedWork::Turn SharedWork::try_next(List& list) {
  std::uint32_t state = list.next.load(std::memory_order_acquire);
  if (state / 2 >= list.pieces) return Turn::kOver;
  const bool free = state % 2 == 0;
  return free && list.next.compare_exchange_strong(state, state + 1, std::memory_order_acquire) ? Turn::kTaken
                                                                                                : Turn::kOfAnother;
}

/// Whether the calling lane may run the next piece now. `waited`: adds the seconds spent waiting for a lane in the
/// middle of a piece; null: does not wait.
bool SharedWork::take_next_in_turn(List& list, double* waited) {
  Turn turn = try_next(list);
  if (turn != Turn::kOfAnother || waited == nullptr) return turn == Turn::kTaken;
  const auto start = Clock::now();
  auto so_far = Clock::duration::zero();
  while (turn == Turn::kOfAnother && so_far < kLongestWait) {
    if (late_ && so_far > kLate) late_->help(list.lane.load(std::memory_order_relaxed));
    if (so_far > kSpinTime) std::this_thread::sleep_for(kSleep);
    for (int i = 0; i < 100 && turn == Turn::kOfAnother; ++i) {
      relax();
      turn = try_next(list);
    }
    so_far = Clock::now() - start;
  }
  const double seconds = std::chrono::duration<double>(so_far).count();
  *waited += seconds;
  working_.waited(seconds);
  return turn == Turn::kTaken;
}

}  // namespace mirrortrain
