#include "device/cpu/cpu_device.h"

#include <fmt/format.h>
#include <sched.h>

#include <fstream>
#include <string>
#include <utility>

#if defined(__x86_64__)
#include <pmmintrin.h>
#endif

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/error.h"
#include "device/cpu/background_stream.h"
#include "device/cpu/thread_team.h"

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

class CpuDevice : public Device {
 public:
  CpuDevice(int index, int threads, std::vector<int> cores)
      : index_(index), threads_(threads), cores_(std::move(cores)) {}

  DeviceId id() const override { return {DeviceId::Kind::kCpu, index_}; }
  int threads() const override { return threads_; }
  Buffer allocate(std::size_t bytes) override { return allocate_host_memory(bytes); }
  DeviceMemory memory() const override { return host_memory(); }
  Buffer allocate_host(std::size_t bytes) override { return allocate_host_memory(bytes); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<InlineStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CpuEvent>(); }

  void enter_thread() override {
    flush_denormals();
    ask_for_short_slices();
    ThreadTeam::of_this_thread().resize(threads_, cores_);
  }

  void keep_to_own_cores(bool keep) override {
    if (!cores_.empty()) ThreadTeam::of_this_thread().keep_to_own_cores(keep);
  }

 private:
  int index_, threads_;
  std::vector<int> cores_;  ///< one per thread, or none: not pinned
};

}  // namespace

void flush_denormals() {
#if defined(__x86_64__)
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
#endif
}

void ask_for_short_slices() {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;  // the user chose another policy
  attributes.size = sizeof(attributes);
  attributes.flags = 0;
  attributes.runtime = kShortest;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

std::unique_ptr<Device> make_cpu_device(int index, int threads, std::vector<int> cores) {
  return std::make_unique<CpuDevice>(index, threads, std::move(cores));
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(':');
      if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
    }
  }
  return "CPU";
}

void require_compiled_instructions() {
#if defined(__x86_64__)
  const std::string_view built_for = MIRRORTRAIN_ARCH;
  const bool fits = built_for == "x86-64-v4"
                        ? __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
                    : built_for == "x86-64-v3" ? __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                                               : true;
  if (!fits) {
    throw UsageError(
        fmt::format("this executable was built for {} processors, which {} is not; build it here, or with "
                    "-DMIRRORTRAIN_ARCH=x86-64-v2",
                    built_for, cpu_name()));
  }
#endif
}

bool cpu_has_bfloat16() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("flags"))
      return (line + " ").find(" avx512_bf16 ") != std::string::npos || line.find("amx_bf16") != std::string::npos;
  }
  return false;
}

}  // namespace mirrortrain
