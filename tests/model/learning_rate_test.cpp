// Values from Keras 3.15 (tools/reference/layer_table.py).
#include "model/learning_rate.h"

#include <doctest/doctest.h>

#include <array>

#include "error_text.h"
#include "model/from_text.h"

using namespace mirrortrain;

namespace {

constexpr std::array<std::int64_t, 10> kSteps{1, 2, 4, 5, 6, 11, 12, 13, 14, 100};

void check_rates(const LearningRate& rate, const std::array<double, 10>& expected) {
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    CAPTURE(kSteps[i]);
    CHECK(learning_rate_at(rate, kSteps[i]) == doctest::Approx(expected[i]).epsilon(1e-6).scale(0.1));
  }
}

}  // namespace

TEST_CASE("a number is the rate of every step") {
  CHECK(learning_rate_at(0.25, 1) == 0.25);
  CHECK(learning_rate_at(0.25, 1000000) == 0.25);
}

TEST_CASE("cosine decay has Keras's rates") {
  check_rates(schedules::CosineDecay{0.1, 10, 0, std::nullopt, 0},
              {0.10000000149011612, 0.0975528284907341, 0.07938926666975021, 0.06545084714889526, 0.04999999701976776,
               0.0, 0.0, 0.0, 0.0, 0.0});
  check_rates(
      schedules::CosineDecay{0.1, 10, 0.2, std::nullopt, 0},
      {0.10000000149011612, 0.09804226458072662, 0.08351141214370728, 0.07236067950725555, 0.05999999865889549,
       0.020000001415610313, 0.020000001415610313, 0.020000001415610313, 0.020000001415610313, 0.020000001415610313});
}

TEST_CASE("cosine decay warms up before its decay steps, as in Keras") {
  check_rates(
      schedules::CosineDecay{0.01, 8, 0.1, 0.1, 4},
      {0.009999999776482582, 0.032499998807907104, 0.07750000059604645, 0.10000000149011612, 0.0965745821595192,
       0.023180196061730385, 0.013425417244434357, 0.010000000707805157, 0.010000000707805157, 0.010000000707805157});
}

TEST_CASE("a learning rate is a number or a schedule") {
  const auto optimizer = [](const std::string& rate) {
    return build_from("optimizer: {type: sgd, learning_rate: " + rate + "}\n");
  };
  const LearningRate constant = learning_rate_of(optimizer("0.5").description.optimizer);
  CHECK(learning_rate_at(constant, 3) == 0.5);
  const LearningRate cosine =
      learning_rate_of(optimizer("{schedule: cosine_decay, initial_learning_rate: 0.1, decay_steps: 10, alpha: 0.2}")
                           .description.optimizer);
  CHECK(learning_rate_at(cosine, 2) == doctest::Approx(0.09804226458072662));

  CAPTURE(optimizer("[0.1]").errors);
  CHECK(contains(optimizer("[0.1]").errors,
                 "optimizer.learning_rate: expected a number or a schedule, found the list [0.1]"));
  CHECK(contains(optimizer("-1").errors, "optimizer.learning_rate"));
  CHECK(contains(optimizer("{schedule: cosine_decay, initial_learning_rate: 0.1}").errors, "decay_steps"));
  CHECK(contains(
      optimizer("{schedule: cosine_decay, initial_learning_rate: 0.1, decay_steps: 5, warmup_steps: 2}").errors,
      "warmup_target"));
}
