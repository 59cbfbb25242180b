// Cross-device operations in whole trainings.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <deque>

#include "device/cpu/cpu_device.h"
#include "strategy/reduction/gradient_buckets.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

using Overrides = std::vector<std::string>;

std::string devices(int count) {
  std::string list = "strategy.devices=[cpu:0";
  for (int i = 1; i < count; ++i) list += fmt::format(",cpu:{}", i);
  return list + "]";
}

TEST_CASE("every cross-device operation trains as one replica does, for any number of replicas") {
  Training one(kMlp, {"strategy.devices=[cpu:0]"});
  const auto losses = one.steps(7);
  for (const int replicas : {1, 2, 3, 5, 11}) {
    for (const char* ops : {"auto", "ring", "hierarchical_copy", "reduction_to_one_device"}) {
      for (const char* method : {"add_n", "tree", "accumulate_n"}) {
        for (const char* bytes_per_pack : {"0", "100"}) {
          CAPTURE(replicas);
          CAPTURE(ops);
          CAPTURE(method);
          CAPTURE(bytes_per_pack);
          Training several(kMlp, {devices(replicas), fmt::format("strategy.cross_device_ops={}", ops),
                                  fmt::format("gradients.aggregation_method={}", method),
                                  fmt::format("strategy.communication.bytes_per_pack={}", bytes_per_pack)});
          const auto own = several.steps(7);
          for (std::size_t i = 0; i < losses.size(); ++i) CHECK(own[i] == doctest::Approx(losses[i]).epsilon(2e-6));
          CHECK(difference(one.variables(), several.variables()) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("the same replicas give the same bits on any number of devices, with every cross-device operation") {
  for (const char* ops : {"auto", "ring", "hierarchical_copy", "reduction_to_one_device"}) {
    CAPTURE(ops);
    const Overrides common = {"strategy.replicas=8", fmt::format("strategy.cross_device_ops={}", ops),
                              "strategy.communication.bytes_per_pack=64", "gradients.aggregation_method=tree"};
    const auto with = [&](int count) {
      Overrides overrides = common;
      overrides.push_back(devices(count));
      return overrides;
    };
    Training reference(kMlp, with(1));
    const auto losses = reference.steps(6);
    for (const int count : {2, 4, 8}) {
      CAPTURE(count);
      Training other(kMlp, with(count));
      CHECK(other.steps(6) == losses);
      CHECK(other.variables() == reference.variables());
    }
  }
}

TEST_CASE("lanes wait for no more than all of the time of their training steps, whatever else they do") {
  Training training(kMlp, {devices(3)});
  for (int round = 0; round < 5; ++round) {
    training.steps(1);
    for (const double share : training.strategy->take_waiting_shares()) {
      CHECK(share >= 0);
      CHECK(share <= 1);
    }
    evaluate_all(*training.strategy, training.examples(), 10);
    training.strategy->write_variables(Lasting::kNone, [](const LastingVariable&) {});
  }
}

TEST_CASE("the sum can be made on any of the devices") {
  Training first(kMlp, {devices(3), "strategy.cross_device_ops=reduction_to_one_device"});
  Training third(kMlp,
                 {devices(3), "strategy.cross_device_ops=reduction_to_one_device", "strategy.reduce_to_device=cpu:2"});
  CHECK(first.steps(5) == third.steps(5));
  CHECK(first.variables() == third.variables());
}

TEST_CASE("gradient buckets hold neighbours in reverse order of creation and never mix policies") {
  const Training training(kMlp, {R"(variables=[{match: "*/bias", aggregation: sum}])"});
  const std::unique_ptr<Device> device = make_cpu_device(0, 1, {});
  std::deque<VariableStore> stores;
  const auto variables_in = [&](const BucketBytes& bytes) -> const VariableStore& {
    StoreOptions store;
    store.policies = training.checked.policies();
    store.bytes_per_bucket = bytes;
    return stores.emplace_back(*training.checked.model, store, *device);
  };
  const auto one_each = make_buckets(variables_in({1, 1}));
  REQUIRE(one_each.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(one_each[i].variables == std::vector<std::size_t>{3 - i});
  const auto small_first = make_buckets(variables_in({1, 0}));
  REQUIRE(small_first.size() == 3);
  CHECK(small_first[0].variables == std::vector<std::size_t>{3});  // the rest of each policy follows
  const VariableStore& variables = variables_in({0, 0});
  const auto whole = make_buckets(variables);
  REQUIRE(whole.size() == 2);  // the kernels' mean and the biases' sum
  for (const GradientBucket& bucket : whole) {
    CHECK(bucket.variables.size() == 2);
    CHECK(bucket.begin == 0);
    CHECK(bucket.elements == variables.groups()[static_cast<std::size_t>(bucket.group)].elements());
  }
}

TEST_CASE("without a size buckets are those of a fast link, the first one small") {
  CommunicationOptions options;
  CHECK(bucket_bytes(options).first == 1 << 20);
  CHECK(bucket_bytes(options).others == 25 << 20);
  options.bytes_per_pack = config::Size{100};
  CHECK(bucket_bytes(options).first == 100);
  CHECK(bucket_bytes(options).others == 100);
}

}  // namespace
}  // namespace mirrortrain
