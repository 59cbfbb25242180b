#include "device/cpu/team_thread.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace mirrortrain {

TeamThread::TeamThread() : id_(static_cast<pid_t>(syscall(SYS_gettid))) {
  pthread_getcpuclockid(pthread_self(), &clock_);
  sched_getaffinity(0, sizeof(home_), &home_);
}

std::chrono::nanoseconds TeamThread::ran_for() const {
  timespec time{};
  clock_gettime(clock_, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void TeamThread::settle(const cpu_set_t& cores) {
  {
    const std::scoped_lock lock(mutex_);
    home_ = cores;
    is_away_ = false;
  }
  run_on(cores);
}

void TeamThread::move_to(int core) {
  is_away_ = true;
  run_on(set_of(std::array{core}));
}

void TeamThread::return_home() {
  if (!is_away_.load(std::memory_order_relaxed)) return;
  cpu_set_t home;
  {
    const std::scoped_lock lock(mutex_);
    is_away_ = false;
    home = home_;
  }
  run_on(home);  // may take as long as another process has that core
}

void TeamThread::exchange_homes(TeamThread& other) {
  cpu_set_t of_other;
  {
    const std::scoped_lock lock(mutex_, other.mutex_);
    std::swap(home_, other.home_);
    of_other = other.home_;
    other.is_away_ = false;
    is_away_ = true;
  }
  other.run_on(of_other);
}

int TeamThread::own_core() const {
  const std::scoped_lock lock(mutex_);
  if (CPU_COUNT(&home_) != 1) return -1;
  int core = 0;
  while (!CPU_ISSET(core, &home_)) ++core;
  return core;
}

void TeamThread::run_on(const cpu_set_t& cores) const { sched_setaffinity(id_, sizeof(cores), &cores); }

}  // namespace mirrortrain
