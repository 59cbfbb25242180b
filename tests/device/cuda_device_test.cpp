#include "device/cuda/cuda_device.h"

#include <doctest/doctest.h>

#include <atomic>

#include "base/error.h"
#include "device/cuda/gpus.h"
#include "device/ordering.h"

using namespace mirrortrain;

TEST_CASE("a GPU's streams keep the order that events ask for") { testing::check_pipeline(*make_cuda_device(0)); }

TEST_CASE("a GPU's streams copy and clear any number of bytes") { testing::check_copies(*make_cuda_device(0)); }

TEST_CASE("a GPU's stream calls a function on the host after what came before") {
  const auto device = make_cuda_device(0);
  const auto stream = device->make_stream();
  const Buffer there = device->allocate(64), host = device->allocate_host(64);
  host.as<int>()[0] = 41;
  stream->copy(there.data(), host.data(), 64);
  stream->zero(host.data(), 64);
  stream->copy(host.data(), there.data(), 64);
  stream->call([](void* number) { ++*static_cast<int*>(number); }, host.data());
  stream->synchronize();
  CHECK(host.as<int>()[0] == 42);
}

TEST_CASE("more memory than a GPU has is refused with the bytes, and the GPU goes on") {
  const auto device = make_cuda_device(0);
  const std::size_t too_much = cuda::visible_gpus().gpus[0].memory_bytes * 2;
  CHECK_THROWS_WITH_AS(device->allocate(too_much), doctest::Contains(std::to_string(too_much).c_str()), Error);
  testing::check_copies(*device);
}

TEST_CASE("every visible GPU has a name, a compute capability and a link to each other one") {
  const cuda::Gpus found = cuda::visible_gpus();
  for (const cuda::Gpu& gpu : found.gpus) {
    CHECK_FALSE(gpu.name.empty());
    CHECK(gpu.major >= 7);
    CHECK(gpu.links.size() == found.gpus.size());
  }
}
