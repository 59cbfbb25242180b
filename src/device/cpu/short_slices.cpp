#include "device/cpu/short_slices.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace mirrortrain {
namespace {

/// struct sched_attr of sched_setattr(2), which glibc declares from 2.41 on.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes), policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;  ///< nanoseconds; runtime: of a fair thread, its slice
};

constexpr std::uint64_t kShortest = 100'000;  // minimum of the kernel

}  // namespace

void ask_for_short_slices() {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;  // the user chose another policy
  attributes.size = sizeof(attributes);
  attributes.flags = 0;
  attributes.runtime = kShortest;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace mirrortrain
