// Checkpoints hold every copy that can differ.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "train/checkpoint/checkpoint.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

using Overrides = std::vector<std::string>;

Checkpoints checkpoints_of(const Training& training, const std::filesystem::path& folder) {
  const CheckpointNames names{training.checked.model->slot_names(), training.checked.model->metric_sum_names()};
  return {folder, *training.strategy, names, {}};
}

TEST_CASE("a resumed run goes on exactly, with every policy and within a group of accumulated gradients") {
  const std::string state =
      "state=[{name: a, assign_add: [1, 2]}, {name: b, synchronization: none, assign_add: [3, 5]},"
      "{name: c, synchronization: on_read, aggregation: sum, assign_add: 1},"
      "{name: d, initial_value: 0.5, aggregation: mean, assign_add: 1}]";
  for (const char* aggregation : {"mean", "sum", "none", "only_first_replica"}) {
    CAPTURE(aggregation);
    const Overrides overrides = {fmt::format("variables=[{{match: \"*/kernel\", aggregation: {}}}]", aggregation),
                                 state, "gradients.accumulate_steps=3", "optimizer={type: adam}"};
    Training whole(kMlp, overrides), first(kMlp, overrides), second(kMlp, overrides);
    const auto losses = whole.steps(8);
    first.steps(5);  // two gradients into a group, in the second epoch
    checkpoints_of(first, first.folder()).save(first.state, 1);
    second.steps(2);
    second.seek(checkpoints_of(second, first.folder()).restore().value());
    CHECK(second.steps(3) == std::vector(losses.begin() + 5, losses.end()));
    for (const int replica : {0, 1}) CHECK(second.variables(replica) == whole.variables(replica));
    const auto expected = whole.strategy->state().readings(), resumed = second.strategy->state().readings();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(resumed[i].value == expected[i].value);
      CHECK(resumed[i].replicas == expected[i].replicas);
    }
  }
}

TEST_CASE("on another number of replicas a run goes on from what reading outside gave") {
  const Overrides common = {"variables=[{match: \"dense/*\", aggregation: none}]",
                            "state=[{name: total, synchronization: on_read, aggregation: sum, assign_add: 1}]"};
  Training two(kMlp, common);
  two.steps(3);
  checkpoints_of(two, two.folder()).save(two.state, 1);
  Overrides three_devices = common;
  three_devices.emplace_back("strategy.devices=[cpu:0,cpu:1,cpu:2]");
  Training three(kMlp, three_devices);
  three.seek(checkpoints_of(three, two.folder()).restore().value());
  for (const int replica : {0, 1, 2}) CHECK(three.variables(replica) == two.variables(0));
  using Number = report::StateReading::Number;
  const auto total = three.strategy->state().readings().at(0);
  CHECK(total.value == Number{std::int64_t{6}});
  CHECK(total.replicas == std::vector<Number>{std::int64_t{6}, std::int64_t{0}, std::int64_t{0}});
}

TEST_CASE("one device goes on from what reading the copies of several replicas gave") {
  const std::string items =
      "state=[{name: sum, synchronization: on_read, aggregation: sum, assign_add: 1},"
      "{name: mean, initial_value: 0.5, synchronization: on_read, aggregation: mean, assign_add: VALUE},"
      "{name: first, aggregation: none, assign_add: VALUE}, {name: own, synchronization: none, assign_add: VALUE}]";
  const auto with = [&](std::string value) {
    std::string text = items;
    for (std::size_t at; (at = text.find("VALUE")) != std::string::npos;) text.replace(at, 5, value);
    return text;
  };
  Training two(kMlp, {with("[1, 3]")});
  two.steps(3);
  checkpoints_of(two, two.folder()).save(two.state, 1);
  Training one(kMlp, {with("1"), "strategy={type: one_device, devices: [cpu:0]}"});
  one.seek(checkpoints_of(one, two.folder()).restore().value());
  using Number = report::StateReading::Number;
  const auto state = one.strategy->state().readings();
  CHECK(state[0].value == Number{std::int64_t{6}});
  CHECK(state[1].value == Number{6.5});
  CHECK(state[2].value == Number{std::int64_t{3}});
  CHECK(state[3].value == Number{std::int64_t{3}});
}

TEST_CASE("with another policy a variable goes on from what reading outside gave") {
  const auto state = [](const char* synchronization, int add) {
    return fmt::format("state=[{{name: total, synchronization: {}, aggregation: sum, assign_add: {}}}]",
                       synchronization, add);
  };
  Training before(kMlp, {state("on_read", 1)});
  before.steps(3);
  checkpoints_of(before, before.folder()).save(before.state, 1);
  Training after(kMlp, {state("on_write", 0), "variables=[{match: \"*\", aggregation: none}]"});
  after.seek(checkpoints_of(after, before.folder()).restore().value());
  CHECK(after.strategy->state().readings().at(0).value == report::StateReading::Number{std::int64_t{6}});
  for (const int replica : {0, 1}) CHECK(after.variables(replica) == before.variables(0));
}

TEST_CASE("gradients of an open group are dropped where none are accumulated any more") {
  Training before(kMlp, {"gradients.accumulate_steps=3"});
  before.steps(5);
  checkpoints_of(before, before.folder()).save(before.state, 1);
  Training after(kMlp);
  after.seek(checkpoints_of(after, before.folder()).restore().value());
  CHECK(after.state.gradients == 0);
  CHECK(after.variables() == before.variables());
  after.steps(1);
}

}  // namespace
}  // namespace mirrortrain
