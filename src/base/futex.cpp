#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace mirrortrain {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

int operation(int command, FutexScope scope) {
  return scope == FutexScope::kProcess ? command | FUTEX_PRIVATE_FLAG : command;
}

}  // namespace

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::nanoseconds longest,
                FutexScope scope) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const timespec limit{static_cast<time_t>(seconds.count()), static_cast<long>((longest - seconds).count())};
  ::syscall(SYS_futex, &word, operation(FUTEX_WAIT, scope), seen, &limit, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word, FutexScope scope) {
  ::syscall(SYS_futex, &word, operation(FUTEX_WAKE, scope), INT_MAX, nullptr, nullptr, 0);
}

}  // namespace mirrortrain
