#include "strategy/variables/derived_copies.h"

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

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

TEST_CASE("copies of masters that arrive later are left out of a step's refresh, and made when they are asked for") {
  const auto device = make_cpu_device(0, 1, {});
  const auto stream = device->make_stream();
  const Buffer memory = device->allocate(120);
  std::vector<std::string> refreshed;
  const auto form = [&](const std::string& name) {
    return DerivedForm{name, 40, [&, name](Stream&, const TensorView&, std::byte*) { refreshed.push_back(name); }};
  };
  const std::span<const float> all(memory.as<float>(), 30);

  DerivedCopies copies(*device, nullptr);
  copies.hold_back(all.subspan(10, 10));
  copies.hold_back(all.subspan(20));
  for (const auto& [name, first] : {std::pair("here", 0), {"second", 10}, {"third", 20}}) {
    copies.request({DType::kFloat32, {10}, memory.data() + first * sizeof(float)}, form(name));
  }
  copies.refresh(*stream, 0, 1, true);
  CHECK(refreshed == std::vector<std::string>{"here"});
  copies.refresh_of(all.subspan(20), *stream, 0, 1);
  copies.refresh_of(all.first(20), *stream, 0, 1);
  CHECK(refreshed == std::vector<std::string>{"here", "third", "second"});
  copies.refresh(*stream, 0, 1, false);
  CHECK(refreshed.size() == 6);
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
