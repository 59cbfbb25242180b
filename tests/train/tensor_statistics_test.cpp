#include "train/tensor_statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "train/training.h"

namespace mirrortrain {
namespace {

using Overrides = std::vector<std::string>;

/// What kMlp logs of its gradients with these overrides.
struct LoggedTraining {
  explicit LoggedTraining(Overrides overrides = {})
      : training(kMlp, with_logging(std::move(overrides))),
        statistics(*training.strategy, *training.checked.model, training.checked.values().logging,
                   training.checked.values().gradients.accumulate_steps) {}

  void step() {
    training.steps(1);
    statistics.note_step();
  }
  std::optional<report::GradientNorms> norms() { return statistics.gradient_norms(training.state); }

  Training training;
  TensorStatistics statistics;

 private:
  static Overrides with_logging(Overrides overrides) {
    overrides.insert(overrides.end(),
                     {"logging.gradient_norms=true", "logging.gradient_histograms=1", "logging.histograms=1"});
    return overrides;
  }
};

/// The norms of a gradient by which sgd without momentum moved the variables from `before` at this rate, by layer.
std::map<std::string, double> norms_of_move(const std::map<std::string, std::vector<float>>& before,
                                            const std::map<std::string, std::vector<float>>& after, double rate) {
  std::map<std::string, double> squares;
  for (const auto& [name, values] : before) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double gradient = (double{values[i]} - after.at(name)[i]) / rate;
      squares[name.substr(0, name.find('/'))] += gradient * gradient;
    }
  }
  for (auto& [layer, sum] : squares) sum = std::sqrt(sum);
  return squares;
}

TEST_CASE("the norms are those of the gradient that the optimizer applies, regularization included") {
  const Overrides all_devices[] = {
      Overrides{"strategy.devices=cpu:0"},
      Overrides{"strategy.devices=[cpu:0,cpu:1,cpu:2]"},
      Overrides{"strategy.devices=[cpu:0,cpu:1]", "strategy.mesh={data: 1, model: 2}", "strategy.replicas=null"},
  };
  for (const Overrides& devices : all_devices) {
    CAPTURE(devices.back());
    constexpr double kRate = 4;  // so that the change is large beside its rounding
    Overrides overrides = devices;
    overrides.insert(overrides.end(), {"optimizer.momentum=0", "optimizer.learning_rate=4"});
    LoggedTraining logged(overrides);
    CHECK_FALSE(logged.norms());  // before the first step
    for (int step = 0; step < 3; ++step) {
      const auto before = logged.training.variables();
      logged.step();
      const std::map<std::string, double> expected = norms_of_move(before, logged.training.variables(), kRate);
      const auto norms = logged.norms();
      REQUIRE(norms);
      REQUIRE(norms->layers.size() == 2);
      double squares = 0;
      for (const auto& [layer, norm] : norms->layers) {
        CHECK(norm == doctest::Approx(expected.at(layer)).epsilon(1e-4));
        squares += norm * norm;
      }
      CHECK(norms->all == doctest::Approx(std::sqrt(squares)).epsilon(1e-12));
    }
  }
}

TEST_CASE("the norms do not depend on clipping, and the devices change no bit") {
  const auto first_norms = [](Overrides overrides) {
    LoggedTraining logged(std::move(overrides));
    logged.step();
    return logged.norms().value();
  };
  const report::GradientNorms plain = first_norms(Overrides());
  CHECK(first_norms(Overrides{"gradients.clip_norm=0.001"}).layers == plain.layers);
  CHECK(first_norms(Overrides{"gradients.clip_value=0.001"}).layers == plain.layers);
  CHECK(first_norms(Overrides{"strategy.devices=cpu:0", "strategy.replicas=2"}).layers == plain.layers);
}

TEST_CASE("of accumulated gradients the mean so far is measured") {
  LoggedTraining one(Overrides{"gradients.accumulate_steps=3"});
  one.step();
  const double first = one.norms()->all;
  LoggedTraining plain;
  plain.step();
  CHECK(first == doctest::Approx(plain.norms()->all).epsilon(1e-6));
  const auto before = one.training.variables();
  one.step();
  one.step();
  // The rate 0.1 of the first update, whose momentum begins at 0.
  const auto expected = norms_of_move(before, one.training.variables(), 0.1);
  const auto norms = one.norms();
  REQUIRE(norms);
  for (const auto& [layer, norm] : norms->layers) CHECK(norm == doctest::Approx(expected.at(layer)).epsilon(1e-3));
}

TEST_CASE("histograms are of the variables after the epoch, and of the last step's gradient") {
  LoggedTraining logged;
  CHECK(logged.statistics.histograms(logged.training.state)->gradients.empty());  // a resumed process without a step
  for (int step = 0; step < 5; ++step) logged.step();
  const auto event = logged.statistics.histograms(logged.training.state);
  REQUIRE(event);
  CHECK(event->step == 5);
  const auto variables = logged.training.variables();
  REQUIRE(event->variables.size() == variables.size());
  REQUIRE(event->gradients.size() == variables.size());
  for (const auto& [name, histogram] : event->variables) {
    const std::span<const float> values[] = {variables.at(name)};
    const report::Histogram expected = report::histogram_of(values);
    for (std::size_t i = 0; i < expected.buckets.size(); ++i) {
      CHECK(histogram.buckets[i].left == expected.buckets[i].left);
      CHECK(histogram.buckets[i].count == expected.buckets[i].count);
    }
  }
  double squares = 0;  // of the middles of the buckets: about those of the gradient
  for (const auto& [name, histogram] : event->gradients) {
    std::int64_t count = 0;
    for (const report::Histogram::Bucket& bucket : histogram.buckets) {
      const double middle = (bucket.left + bucket.right) / 2;
      squares += static_cast<double>(bucket.count) * middle * middle;
      count += bucket.count;
    }
    CHECK(count == std::ssize(variables.at(name)));
  }
  CHECK(std::sqrt(squares) == doctest::Approx(logged.norms()->all).epsilon(0.05));
}

TEST_CASE("what is not asked for is not read") {
  Training training(kMlp);
  TensorStatistics statistics(*training.strategy, *training.checked.model, training.checked.values().logging, 1);
  training.steps(1);
  statistics.note_step();
  CHECK_FALSE(training.strategy->keeps_gradients());
  CHECK_FALSE(statistics.gradient_norms(training.state));
  CHECK_FALSE(statistics.histograms(training.state));
}

TEST_CASE("gradients that are kept change no bit of the weights, unless the update would make them itself") {
  Training plain(kMlp);
  LoggedTraining logged;
  plain.steps(6);
  for (int step = 0; step < 6; ++step) logged.step();
  CHECK(plain.variables() == logged.training.variables());
}

}  // namespace
}  // namespace mirrortrain
