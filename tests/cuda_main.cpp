// Runs a test program that needs a GPU; without one it says why and ends with the code that ctest reports as skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <memory_resource>

#include "device/cuda/cuda_device.h"
#include "device/cuda/gpus.h"
#include "skip.h"

namespace {

/// Host memory that the GPU reaches, so that tests can give a kernel what the host has written.
class ReachedByGpu : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    mirrortrain::Buffer buffer = device_->allocate_host(bytes);
    std::byte* const memory = buffer.data();
    buffers_.emplace(memory, std::move(buffer));
    return memory;
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override {
    buffers_.erase(static_cast<std::byte*>(memory));
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::unique_ptr<mirrortrain::Device> device_ = mirrortrain::make_cuda_device(0);
  std::map<std::byte*, mirrortrain::Buffer> buffers_;
};

}  // namespace

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const mirrortrain::cuda::Gpus found = mirrortrain::cuda::visible_gpus();
  if (found.gpus.empty()) {
    std::printf("skipped: %s\n", found.why_none.c_str());
    return kSkipped;
  }
  std::cout << std::unitbuf;  // so that what was said remains where time runs out
  ReachedByGpu reached;
  std::pmr::synchronized_pool_resource pool({0, std::size_t{1} << 20}, &reached);
  std::pmr::set_default_resource(&pool);
  const int code = doctest::Context(argc, argv).run();
  std::pmr::set_default_resource(nullptr);
  if (mirrortrain::testing::skipped_cases > 0) {
    std::printf("%d test cases were skipped for what this machine lacks\n", mirrortrain::testing::skipped_cases);
  }
  return code;
}
