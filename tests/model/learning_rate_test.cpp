// Values from Keras 3.15 (tools/reference/layer_table.py).
#include "model/learning_rate.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

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

TEST_CASE("cosine decay restarts as in Keras") {
  check_rates(schedules::CosineDecayRestarts{0.1, 3},
              {0.100000001, 0.075000003, 0.100000001, 0.0933012739, 0.075000003, 0.0982962921, 0.0933012739,
               0.0853553414, 0.0749999955, 0.099039264});
  check_rates(schedules::CosineDecayRestarts{0.1, 4, 1, 0.5, 0.1},
              {0.100000001, 0.0868198127, 0.0231801961, 0.0550000034, 0.0484099053, 0.0212500002, 0.0132950488,
               0.0212500002, 0.0196024757, 0.0100000007});
  check_rates(schedules::CosineDecayRestarts{0.1, 2, 1.5, 0.8, 0.05},
              {0.100000001, 0.0524999984, 0.0620000027, 0.0239999965, 0.0658000037, 0.0529844537, 0.0479502045,
               0.0389526635, 0.0279059205, 0.0209348463});
}

TEST_CASE("a restart is hit exactly whatever the factor") {
  // Restarts after 10, 10 + 10 t, 10 + 10 t + 10 t^2, ... steps; the logarithm alone would miss some of them.
  for (const double t_mul : {1.1, 1.2, 2.0, 3.0, 5.0}) {
    const schedules::CosineDecayRestarts schedule{0.1, 1000, t_mul};
    double begin = 0;
    for (int n = 0; n < 5; ++n) {
      CAPTURE(t_mul);
      CAPTURE(n);
      CHECK(schedule.at(std::lround(begin)) == doctest::Approx(0.1));
      begin += 1000 * std::pow(t_mul, n);
    }
  }
}

TEST_CASE("exponential and inverse time decay have Keras's rates") {
  check_rates(schedules::ExponentialDecay{0.1, 4, 0.5},
              {0.100000001, 0.0840896443, 0.0594603531, 0.0500000007, 0.0420448221, 0.0176776703, 0.0148650883,
               0.0125000002, 0.0105112055, 3.54411323e-09});
  check_rates(schedules::ExponentialDecay{0.1, 4, 0.5, true},
              {0.100000001, 0.100000001, 0.100000001, 0.0500000007, 0.0500000007, 0.0250000004, 0.0250000004,
               0.0125000002, 0.0125000002, 5.96046457e-09});
  check_rates(schedules::InverseTimeDecay{0.1, 4, 0.5},
              {0.100000001, 0.088888891, 0.0727272704, 0.0666666701, 0.0615384616, 0.0444444455, 0.042105265,
               0.0399999991, 0.0380952395, 0.00747663574});
  check_rates(schedules::InverseTimeDecay{0.1, 4, 0.5, true},
              {0.100000001, 0.100000001, 0.100000001, 0.0666666701, 0.0666666701, 0.0500000007, 0.0500000007,
               0.0399999991, 0.0399999991, 0.0076923077});
}

TEST_CASE("piecewise constant rates hold up to and including their boundaries, as in Keras") {
  check_rates(schedules::PiecewiseConstant{{1, 4, 11}, {0.1, 0.05, 0.02, 0.01}},
              {0.1, 0.1, 0.05, 0.05, 0.02, 0.02, 0.02, 0.01, 0.01, 0.01});
}

TEST_CASE("polynomial decay has Keras's rates") {
  check_rates(schedules::PolynomialDecay{0.1, 10},
              {0.100000001, 0.0900100023, 0.0700300038, 0.0600400046, 0.0500500016, 9.99999975e-05, 9.99999975e-05,
               9.99999975e-05, 9.99999975e-05, 9.99999975e-05});
  check_rates(schedules::PolynomialDecay{0.1, 10, 0.02, 2},
              {0.099999994, 0.0847999901, 0.0591999963, 0.0487999991, 0.0399999991, 0.0199999996, 0.0199999996,
               0.0199999996, 0.0199999996, 0.0199999996});
  check_rates(schedules::PolynomialDecay{0.1, 5, 0.01, 0.5, true},
              {0.100000001, 0.0904984474, 0.0669210032, 0.0502492264, 0.00999999978, 0.00999999978, 0.0564758033,
               0.0502492264, 0.0428633541, 0.0189999957});
}

TEST_CASE("a learning rate is a number or a schedule") {
  const auto optimizer = [](const std::string& rate) {
    return build_from("optimizer: {type: sgd, learning_rate: " + rate + "}\n");
  };
  const LearningRate constant = learning_rate_of(optimizer("0.5").description.optimizer.all.at(0));
  CHECK(learning_rate_at(constant, 3) == 0.5);
  const LearningRate cosine =
      learning_rate_of(optimizer("{schedule: cosine_decay, initial_learning_rate: 0.1, decay_steps: 10, alpha: 0.2}")
                           .description.optimizer.all.at(0));
  CHECK(learning_rate_at(cosine, 2) == doctest::Approx(0.09804226458072662));

  CAPTURE(optimizer("[0.1]").errors);
  CHECK(contains(optimizer("[0.1]").errors,
                 "optimizer.learning_rate: expected a number or a schedule, found the list [0.1]"));
  CHECK(contains(optimizer("-1").errors, "optimizer.learning_rate"));
  CHECK(contains(optimizer("{schedule: cosine_decay, initial_learning_rate: 0.1}").errors, "decay_steps"));
  CHECK(contains(
      optimizer("{schedule: cosine_decay, initial_learning_rate: 0.1, decay_steps: 5, warmup_steps: 2}").errors,
      "warmup_target"));

  const LearningRate pieces =
      learning_rate_of(optimizer("{schedule: piecewise_constant, boundaries: [2, 5], values: [1, 0.5, 0.25]}")
                           .description.optimizer.all.at(0));
  CHECK(learning_rate_at(pieces, 4) == 0.5);
  const auto error_of = [&](const std::string& rate) { return optimizer(rate).errors; };
  CHECK(contains(error_of("{schedule: piecewise_constant, boundaries: [2, 2], values: [1, 2, 3]}"),
                 "boundaries: expected ascending steps, found 2 after 2"));
  CHECK(contains(error_of("{schedule: piecewise_constant, boundaries: [2], values: [1]}"),
                 "values: expected 2 learning rates, one more than boundaries, found 1"));
  CHECK(contains(error_of("{schedule: exponential_decay, initial_learning_rate: 1, decay_steps: 0, decay_rate: 1}"),
                 "decay_steps"));
  CHECK(contains(
      error_of("{schedule: cosine_decay_restarts, initial_learning_rate: 1, first_decay_steps: 5, t_mul: 0.5}"),
      "t_mul"));
}
