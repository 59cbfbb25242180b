#include "strategy/variables/derived_copies.h"

#include <doctest/doctest.h>

#include "device/cpu/cpu_device.h"

namespace mirrortrain {
namespace {

TEST_CASE("a rounded copy lies beside the weights, and is left to updates where they refresh it") {
  Model model;
  for (const char* name : {"a", "b"}) {
    ModelVariable& variable = model.variables.emplace_back();
    variable.spec.name = name;
    variable.spec.shape = Shape{20};
    variable.spec.trainable = true;
  }
  const auto device = make_cpu_device(0, 1, {});
  const auto stream = device->make_stream();
  VariableStore store(model, {std::vector<VariablePolicy>(2)}, *device);
  int refreshed = 0;
  const auto count = [&](Stream&, const TensorView&, std::byte*) { ++refreshed; };
  const TensorView weights = store.variables()[1].copy(0);

  DerivedCopies by_update(*device, &store);
  std::byte* const rounded = by_update.request(weights, {"bfloat16", 40, count, true});
  CHECK(rounded == reinterpret_cast<std::byte*>(store.rounded(weights.data)));
  CHECK(store.groups()[0].view(0).rounded + store.place(1).first == store.rounded(weights.data));
  std::byte* const other = by_update.request(weights, {"transposed", 80, count});
  CHECK(other != rounded);
  CHECK(by_update.request(weights, {"bfloat16", 40, count, true}) == rounded);
  by_update.refresh(*stream, 0, 1, false);
  CHECK(refreshed == 2);
  by_update.refresh(*stream, 0, 1, true);
  CHECK(refreshed == 3);  // the other one alone

  DerivedCopies on_its_own(*device, nullptr);
  on_its_own.request(weights, {"bfloat16", 40, count, true});
  on_its_own.refresh(*stream, 0, 1, true);
  CHECK(refreshed == 4);
}

TEST_CASE("copies of a variable that no step changes are made when it was changed otherwise") {
  const auto device = make_cpu_device(0, 1, {});
  const auto stream = device->make_stream();
  const Buffer memory = device->allocate(80);
  int refreshed = 0;
  const auto count = [&](Stream&, const TensorView&, std::byte*) { ++refreshed; };
  const TensorView frozen{DType::kFloat32, {20}, memory.data()};

  DerivedCopies copies(*device, nullptr);
  copies.request(frozen, {"bfloat16", 40, count, true}, false);
  copies.refresh(*stream, 0, 1, false);
  CHECK(refreshed == 1);
  copies.refresh(*stream, 0, 1, true);
  CHECK(refreshed == 1);
}

}  // namespace
}  // namespace mirrortrain
