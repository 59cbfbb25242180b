#include "device/cpu/cpu_device.h"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <pmmintrin.h>
#endif

#include "base/error.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// The work is done by the time a call returns.
class CpuStream : public Stream {
 public:
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void zero(std::byte* to, std::size_t bytes) override { std::memset(to, 0, bytes); }
  void synchronize() override {}
};

Buffer allocate_host(std::size_t bytes) {
  if (bytes == 0) return {};
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  auto* data = rounded < bytes ? nullptr : static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (data == nullptr)
    throw Error(fmt::format("no memory for {} bytes on the CPU; use a smaller batch or model", bytes));
  if (alignment == kHugePage) madvise(data, rounded, MADV_HUGEPAGE);  // fewer TLB misses; a refusal does no harm
  std::memset(data, 0, rounded);
  return {data, bytes, [](std::byte* memory) { std::free(memory); }};
}

/// Numbers below 1e-38 become zero, as in TensorFlow: an optimizer's moments decay into them, and processors are slow
/// there.
void flush_denormals() {
#if defined(__x86_64__)
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
#endif
}

class CpuDevice : public Device {
 public:
  CpuDevice(int index, int threads, std::vector<int> cores)
      : index_(index), threads_(threads), cores_(std::move(cores)) {}

  DeviceId id() const override { return {DeviceId::Kind::kCpu, index_}; }
  int threads() const override { return threads_; }
  Buffer allocate(std::size_t bytes) override { return allocate_host(bytes); }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CpuStream>(); }

  void enter_thread() override {
    omp_set_num_threads(threads_);
#pragma omp parallel num_threads(threads_)
    {
      flush_denormals();
      if (!cores_.empty()) pin_to(cores_[static_cast<std::size_t>(omp_get_thread_num())]);
    }
  }

 private:
  /// Not being allowed to pin does no harm.
  static void pin_to(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
  }

  int index_, threads_;
  std::vector<int> cores_;  ///< one per thread, or none: not pinned
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(int index, int threads, std::vector<int> cores) {
  return std::make_unique<CpuDevice>(index, threads, std::move(cores));
}

std::vector<int> usable_cores() {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
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
