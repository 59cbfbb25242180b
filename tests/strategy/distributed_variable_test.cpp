#include "strategy/distributed_variable.h"

#include <doctest/doctest.h>

#include <array>

namespace mirrortrain {
namespace {

TEST_CASE("assigning from outside reaches every copy") {
  std::array<float, 2> a{}, b{};
  const DistributedVariable variable("v", Shape{2}, {Synchronization::kOnRead, Aggregation::kMean},
                                     {a.data(), b.data()});
  variable.assign(std::array{3.0f, 4.0f});
  CHECK(a == std::array{3.0f, 4.0f});
  CHECK(b == a);
}

TEST_CASE("reading on_read x mean from outside gives the mean of the copies") {
  std::array<float, 2> a{1, 10}, b{2, 20}, c{6, 60}, read{};
  const DistributedVariable variable("v", Shape{2}, {Synchronization::kOnRead, Aggregation::kMean},
                                     {a.data(), b.data(), c.data()});
  variable.read(read);
  CHECK(read == std::array{3.0f, 30.0f});
  CHECK(variable.copy(1)[0] == 2);
}

TEST_CASE("reading on_write x mean from outside gives the shared copy") {
  std::array<float, 1> shared{5}, read{};
  const DistributedVariable variable("v", Shape{1}, {Synchronization::kOnWrite, Aggregation::kMean},
                                     {shared.data(), shared.data()});
  variable.read(read);
  CHECK(read[0] == 5);
}

TEST_CASE("copies can differ unless every write is aggregated") {
  CHECK_FALSE(VariablePolicy{Synchronization::kOnWrite, Aggregation::kMean}.copies_can_differ());
  CHECK_FALSE(VariablePolicy{Synchronization::kOnWrite, Aggregation::kSum}.copies_can_differ());
  CHECK(VariablePolicy{Synchronization::kOnWrite, Aggregation::kNone}.copies_can_differ());
  CHECK(VariablePolicy{Synchronization::kOnRead, Aggregation::kMean}.copies_can_differ());
}

}  // namespace
}  // namespace mirrortrain
