// Optimizers that read whole variables: the same on any number of replicas and devices, and after a resumption.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "error_text.h"
#include "train/checkpoint/checkpoint.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

const std::vector<std::string> kWholeOptimizers = {
    "{type: adafactor, learning_rate: 0.3, weight_decay: 0.1, use_ema: true}",
    "{type: muon, learning_rate: 0.05, clipnorm: 0.5}",
    "{type: lamb, learning_rate: 0.05, clipnorm: 0.01}",
    "{type: sgd, learning_rate: 0.1, momentum: 0.5, clipnorm: 0.05}",
    "[{type: muon, match: \"dense/*\", learning_rate: 0.05}, {type: adafactor, match: \"*/kernel\", learning_rate: "
    "0.2}, "
    "{type: adam, learning_rate: {schedule: exponential_decay, initial_learning_rate: 0.1, decay_steps: 2, decay_rate: "
    "0.5}}]",
};

std::vector<std::string> whole_overrides(const std::string& optimizer, const std::string& devices,
                                         std::vector<std::string> more = {}) {
  more.push_back("optimizer=" + optimizer);
  more.push_back("strategy.devices=" + devices);
  return more;
}

TEST_CASE("whichever lanes make directions, the bits are the same, and one replica has nearly the same numbers") {
  for (const std::string& optimizer : kWholeOptimizers) {
    CAPTURE(optimizer);
    Training together(kMlp, whole_overrides(optimizer, "[cpu:0, cpu:0, cpu:0]"));
    Training apart(kMlp, whole_overrides(optimizer, "[cpu:0, cpu:1, cpu:2]"));
    Training two(kMlp, whole_overrides(optimizer, "[cpu:0, cpu:1, cpu:0]"));
    Training one(kMlp, whole_overrides(optimizer, "[cpu:0]"));
    const auto losses = together.steps(12), alone = one.steps(12);
    CHECK(apart.steps(12) == losses);
    CHECK(two.steps(12) == losses);
    CHECK(apart.variables() == together.variables());
    CHECK(two.variables() == together.variables());
    for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == doctest::Approx(alone[i]).epsilon(1e-5));
    CHECK(difference(together.variables(), one.variables()) < 1e-5);
    CHECK(losses.back() < losses.front());
  }
}

TEST_CASE("a resumed run has the bits of one that went on, with every state of a direction") {
  for (const std::string& optimizer : kWholeOptimizers) {
    for (const char* const gradients : {"gradients.accumulate_steps=1", "gradients.accumulate_steps=2"}) {
      CAPTURE(optimizer);
      CAPTURE(gradients);
      const auto overrides = whole_overrides(optimizer, "[cpu:0, cpu:1]", {gradients});
      Training whole(kMlp, overrides), first(kMlp, overrides), second(kMlp, overrides);
      const auto losses = whole.steps(9);
      const auto checkpoints_of = [&](const Training& training) {
        return Checkpoints(first.folder(), *training.strategy,
                           {training.checked.model->slot_names(), training.checked.model->metric_sum_names()}, {});
      };
      first.steps(5);
      checkpoints_of(first).save(first.state, 1);
      second.seek(checkpoints_of(second).restore().value());
      CHECK(second.steps(4) == std::vector(losses.begin() + 5, losses.end()));
      CHECK(second.variables() == whole.variables());
    }
  }
}

TEST_CASE("variables that replicas do not share have directions of their own") {
  const auto overrides = whole_overrides("{type: muon, learning_rate: 0.05, clipnorm: 0.5}", "[cpu:0, cpu:1]",
                                         {"variables=[{match: \"dense/*\", aggregation: none}]"});
  Training own(kMlp, overrides);
  own.steps(5);
  CHECK(own.variables(0).at("dense/kernel") != own.variables(1).at("dense/kernel"));
  CHECK(own.variables(0).at("dense_1/kernel") == own.variables(1).at("dense_1/kernel"));
}

TEST_CASE("a scale of the loss changes no bit where it is a power of two") {
  Training plain(kMlp, {"optimizer={type: adam, learning_rate: 0.01}"});
  Training scaled(kMlp, {"optimizer={type: adam, learning_rate: 0.01, loss_scale_factor: 1024}"});
  CHECK(plain.steps(6) == scaled.steps(6));
  CHECK(plain.variables() == scaled.variables());
}

TEST_CASE("Adafactor keeps a row and a column of a matrix") {
  Training training(kMlp, {"optimizer=adafactor"});
  std::size_t elements = 0;
  training.strategy->read_variables(Lasting::kSlots, [&](const LastingVariable& variable) {
    for (const DistributedVariable& slot : variable.slots) elements += slot.bytes() / sizeof(float);
  });
  CHECK(elements == (6 + 7) + 7 + (7 + 3) + 3);
}

TEST_CASE("what reads whole variables is refused where places have parts of them") {
  for (const char* const optimizer :
       {"{type: sgd, clipnorm: 1}", "adafactor", "muon", "[{type: lamb, match: \"*\"}]"}) {
    CAPTURE(optimizer);
    CHECK(contains(error_text([&] {
                     Training(kMlp,
                              whole_overrides(optimizer, "[cpu:0, cpu:1]", {"strategy.mesh={data: 1, model: 2}"}));
                   }),
                   "reads each variable's whole gradient"));
  }
}

}  // namespace
}  // namespace mirrortrain
