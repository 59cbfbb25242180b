#include "model/optimizers.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mirrortrain;

namespace {

std::vector<std::string> slot_names(const UpdateRule& rule) { return {rule.slots().begin(), rule.slots().end()}; }

}  // namespace

TEST_CASE("optimizers have Keras's defaults") {
  CHECK(learning_rate_at(optimizers::Sgd{}.learning_rate, 1) == 0.01);
  CHECK(rule(optimizers::Sgd{}) == UpdateRule{});
  CHECK(learning_rate_at(optimizers::Adam{}.learning_rate, 1) == 0.001);
  CHECK(rule(optimizers::Adam{}) ==
        UpdateRule{.kind = UpdateRule::Kind::kAdam, .beta_1 = 0.9f, .beta_2 = 0.999f, .epsilon = 1e-7f});
  CHECK(learning_rate_at(optimizers::AdamW{}.learning_rate, 1) == 0.001);
  CHECK(rule(optimizers::AdamW{}) == UpdateRule{.kind = UpdateRule::Kind::kAdamW,
                                                .beta_1 = 0.9f,
                                                .beta_2 = 0.999f,
                                                .epsilon = 1e-7f,
                                                .weight_decay = 0.004f});
}

TEST_CASE("sgd keeps a velocity only where there is momentum") {
  CHECK(rule(optimizers::Sgd{0.1, 0, true}).kind == UpdateRule::Kind::kSgd);
  CHECK(rule(optimizers::Sgd{0.1, 0.9, false}) == UpdateRule{.kind = UpdateRule::Kind::kSgdMomentum, .momentum = 0.9f});
  CHECK(rule(optimizers::Sgd{0.1, 0.9, true}) == UpdateRule{.kind = UpdateRule::Kind::kSgdNesterov, .momentum = 0.9f});
}

TEST_CASE("slots are named as in Keras") {
  CHECK(slot_names(rule(optimizers::Sgd{})).empty());
  CHECK(slot_names(rule(optimizers::Sgd{0.1, 0.9, true})) == std::vector<std::string>{"momentum"});
  CHECK(slot_names(rule(optimizers::Adam{})) == std::vector<std::string>{"momentum", "velocity"});
  CHECK(slot_names(rule(optimizers::AdamW{})) == std::vector<std::string>{"momentum", "velocity"});
}
