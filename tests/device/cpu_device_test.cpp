#include "device/cpu/cpu_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "device/ordering.h"

using namespace mirrortrain;

TEST_CASE("a CPU's streams keep the order that events ask for") { testing::check_pipeline(*make_cpu_device(0, 1, {})); }

TEST_CASE("a CPU's streams copy and clear any number of bytes") { testing::check_copies(*make_cpu_device(0, 1, {})); }

TEST_CASE("a CPU's stream calls a function before call returns") {
  const auto device = make_cpu_device(0, 1, {});
  int calls = 0;
  device->make_stream()->call([](void* argument) { ++*static_cast<int*>(argument); }, &calls);
  CHECK(calls == 1);
}

TEST_CASE("a CPU's memory is zeroed and begins at a line, or at a huge page where it is large") {
  const auto device = make_cpu_device(0, 1, {});
  for (const std::size_t bytes : {1u, 64u, 1000u, 2u << 20, (2u << 20) + 1, 9'000'000u}) {
    CAPTURE(bytes);
    const Buffer buffer = device->allocate(bytes);
    REQUIRE(buffer.bytes() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % (bytes < (2u << 20) ? 64 : 2u << 20) == 0);
    CHECK(std::all_of(buffer.data(), buffer.data() + bytes, [](std::byte byte) { return byte == std::byte{0}; }));
    std::memset(buffer.data(), 1, bytes);
  }
}

TEST_CASE("a CPU tells how much memory there is, and that it cannot give more") {
  const auto device = make_cpu_device(0, 1, {});
  const DeviceMemory memory = device->memory();
  const std::size_t some = std::min(memory.free / 2, std::size_t{64} << 20);
  CHECK(device->allocate(some).bytes() == some);
  CHECK(memory.free <= memory.all);
  for (const std::size_t bytes : {std::size_t{1} << 60, std::numeric_limits<std::size_t>::max()}) {
    CHECK_THROWS_WITH_AS(device->allocate(bytes), doctest::Contains("no memory for"), Error);
  }
}
