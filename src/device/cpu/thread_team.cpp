#include "device/cpu/thread_team.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <latch>
#include <system_error>

#include "base/error.h"
#include "base/relax.h"
#include "base/usable_cores.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel_loops.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// What threads are apart that run, and how long a thread is watched to know whether it does. Then whoever waits sleeps,
// as spinning would use up the share of a core that it needs when there is work again.
constexpr microseconds kSpinTime{30}, kWatchTime{10}, kLongestSpinTime{150};
/// How often a sleeper looks whether the others run.
constexpr std::chrono::milliseconds kSleep{1};
constexpr std::chrono::seconds kIdle{1};

thread_local int own_number = 0;  ///< among the members
thread_local bool inside_part = false;

template <class Done>
bool spin(const Done& done, microseconds time) {
  for (const auto start = Clock::now(); Clock::now() - start < time;) {
    for (int i = 0; i < 20; ++i) {
      if (done()) return true;
      relax();
    }
  }
  return done();
}

}  // namespace

ThreadTeam& ThreadTeam::of_this_thread() {
  static thread_local ThreadTeam team;
  return team;
}

bool ThreadTeam::is_inside_part() { return inside_part; }

ThreadTeam::~ThreadTeam() { end_helpers(); }

void ThreadTeam::resize(int threads, const std::vector<int>& cores) {
  cores_ = cores;
  if (threads != static_cast<int>(members_.size())) start_helpers(threads);
  keep_to_own_cores(true);
}

void ThreadTeam::keep_to_own_cores(bool keep) {
  if (cores_.empty()) return;
  const cpu_set_t all = set_of(usable_cores());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i]->settle(keep && i < cores_.size() ? set_of(std::array{cores_[i]}) : all);
  }
}

/// Ends those that there are.
void ThreadTeam::start_helpers(int threads) {
  end_helpers();
  if (members_.empty()) members_.push_back(std::make_unique<TeamThread>());
  members_.resize(static_cast<std::size_t>(threads));
  const cpu_set_t all = set_of(usable_cores());  // not the core of this thread, which they would inherit
  std::latch started(threads - 1);
  try {
    for (int number = 1; number < threads; ++number) {
      helpers_.emplace_back([this, number, &started, &all] {
        own_number = number;
        auto& self = members_[static_cast<std::size_t>(number)];
        self = std::make_unique<TeamThread>();
        self->settle(all);
        ask_for_short_slices();
        started.count_down();
        help(number);
      });
    }
  } catch (const std::system_error& error) {
    end_helpers();
    throw Error(
        fmt::format("cannot start {} threads: {}; raise the limit of processes (ulimit -u), or take fewer "
                    "threads_per_replica",
                    threads, error.code().message()));
  }
  started.wait();
}

void ThreadTeam::end_helpers() {
  stop_ = true;
  for_offers_.wake();
  for (std::thread& helper : helpers_) helper.join();
  helpers_.clear();
  if (!members_.empty()) members_.resize(1);
  stop_ = false;
}

void ThreadTeam::run(int threads, int parts, Part call, void* argument) {
  if (inside_part || threads <= 1 || parts <= 1) {
    for (int part = 0; part < parts; ++part) call(argument, part);
    return;
  }
  if (static_cast<int>(members_.size()) < threads) start_helpers(threads);
  call_ = call;
  argument_ = argument;
  unfinished_ = parts;
  offer_ = Offer::of(threads, parts).word;
  for_offers_.wake();
  take_parts(0);
  TeamThread& self = *members_[0];
  wait(self, for_end_, [this] { return unfinished_.load() == 0; });
  self.return_home();
}

void run_parts(int threads, int parts, ThreadTeam::Part call, void* argument) {
  ThreadTeam::of_this_thread().run(threads, parts, call, argument);
}

void ThreadTeam::take_parts(int number) {
  TeamThread& self = *members_[static_cast<std::size_t>(number)];
  self.in_part = true;
  inside_part = true;
  std::uint64_t offer = offer_.load();
  while (Offer{offer}.is_for(number)) {
    if (!offer_.compare_exchange_weak(offer, offer + 1)) continue;
    call_(argument_, Offer{offer}.next());  // neither changes before this part is finished
    if (unfinished_.fetch_sub(1) == 1) for_end_.wake();
    self.return_home();
    offer = offer_.load();
  }
  inside_part = false;
  self.in_part = false;
}

void ThreadTeam::help(int number) {
  while (!stop_) {
    take_parts(number);
    wait_for_offer(number);
  }
}

void ThreadTeam::wait_for_offer(int number) {
  TeamThread& self = *members_[static_cast<std::size_t>(number)];
  const auto done = [&] { return is_offered(number) || stop_.load(); };
  if (spin(done, kLongestSpinTime)) return;
  while (!done()) {
    const bool others_work = unfinished_.load() > 0;
    if (others_work) bring_back_others(self, done);
    self.return_home();
    for_offers_.sleep(done, others_work ? kSleep : kIdle);
  }
}

void ThreadTeam::meet(int parts) {
  TeamThread& self = *members_[static_cast<std::size_t>(own_number)];
  const std::uint32_t meeting = meetings_.load();
  if (arrived_.fetch_add(1) + 1 < parts) {
    return wait(self, for_meeting_, [&] { return meetings_.load() != meeting; });
  }
  arrived_ = 0;
  for (const auto& member : members_) member->is_asleep = false;  // each has work again, whether it has a core or not
  meetings_.fetch_add(1);
  for_meeting_.wake();
}

/// Waits for members that are in a part.
template <class Done>
void ThreadTeam::wait(TeamThread& self, Sleepers& sleepers, const Done& done) {
  auto so_far = kSpinTime;
  if (spin(done, kSpinTime)) return;
  while (!done()) {
    if (bring_back_others(self, done) || so_far >= kLongestSpinTime) {
      self.is_asleep = true;
      sleepers.sleep(done, kSleep);
      self.is_asleep = false;
    } else if (!spin(done, kSpinTime)) {
      so_far += kSpinTime;
    }
  }
}

/// Moves members that lost their cores in a part, or have none to take a part with, to cores that wait for them, this
/// thread's first. It must sleep then.
template <class Done>
bool ThreadTeam::bring_back_others(TeamThread& self, const Done& done) {
  int brought_back = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto& other = members_[i];
    const auto is_needed = [&] { return other->in_part || is_offered(static_cast<int>(i)); };
    if (other.get() == &self || !is_needed()) continue;
    if (!other->lacks_core([&] { return spin(done, kWatchTime); })) continue;
    const std::unique_lock alone(bringing_back_, std::try_to_lock);
    if (!alone || !is_needed() || done()) continue;
    const bool exchange = other == members_.front() && !self.in_part && self.own_core() >= 0 && other->own_core() >= 0;
    if (exchange) {
      self.exchange_homes(*other);
    } else {
      other->move_to(free_core(self, brought_back));
    }
    ++brought_back;
  }
  return brought_back > 0;
}

/// The core of this thread, and those of members that are in no part: the number-th of them, or if there are fewer the
/// first.
int ThreadTeam::free_core(const TeamThread& self, int number) const {
  for (const auto& other : members_) {
    if (number == 0) break;
    if (other.get() == &self || other->in_part) continue;
    const int core = other->own_core();
    if (core >= 0 && --number == 0) return core;
  }
  return sched_getcpu();
}

}  // namespace mirrortrain
