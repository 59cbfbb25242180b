#include "device/cpu/cpu_device.h"

#include <doctest/doctest.h>

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
