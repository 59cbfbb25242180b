#include "train/session/callbacks.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/files.h"
#include "base/json.h"
#include "error_text.h"
#include "has_in_order.h"
#include "train/checkpoint/checkpoint_state.h"
#include "train/configuration/check_callbacks.h"
#include "train/session/check_configuration.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

using nlohmann::json;

/// What Keras 3.15's callbacks did; tools/reference/keras_callbacks.py makes it.
json golden(const char* callback) {
  return parse_json<json>(read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/callbacks.json")).at(callback);
}

WatchedMetric watched_in(const json& options) {
  WatchedMetric watched;
  watched.mode = options.at("mode") == "min" ? MetricMode::kMin : MetricMode::kMax;
  return watched;
}

std::vector<double> values_in(const json& golden) {
  std::vector<double> values;
  for (const json& value : golden.at("values")) {
    values.push_back(value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

report::EpochEvent epoch(std::int64_t number, double validation_loss) {
  report::EpochEvent event;
  event.epoch = number;
  event.scores = report::Scores{-validation_loss, {{"accuracy", 2 * validation_loss}}};
  event.validation = report::Scores{validation_loss, {{"accuracy", -validation_loss}}};
  return event;
}

TEST_CASE("early_stopping ends the training after Keras's epoch and keeps the weights of Keras's best") {
  for (const json& expected : golden("early_stopping")) {
    CAPTURE(json_text(expected));
    const json& options = expected.at("options");
    EarlyStopping stopping;
    stopping.watched = watched_in(options);
    stopping.patience = options.at("patience");
    stopping.min_delta = options.at("min_delta");
    stopping.start_from_epoch = options.at("start_from_epoch");
    if (options.contains("baseline")) stopping.baseline = options.at("baseline").get<double>();
    stopping.restore_best = true;
    const Callbacks callbacks({stopping}, 0.1);
    CallbackState state;
    std::int64_t epochs = 0;
    std::size_t reported = 0;
    for (const double value : values_in(expected)) {
      reported += callbacks.end_epoch(epoch(++epochs, value), state).size();
      if (callbacks.stops(state)) break;
    }
    CHECK(epochs == expected.at("epochs"));
    CHECK(callbacks.stops(state) == expected.at("stopped"));
    CHECK(reported == (expected.at("stopped") ? 1 : 0));
    if (state.kept_epoch > 0)
      CHECK(state.kept_epoch == expected.at("restored"));
    else
      CHECK(expected.at("restored") == epochs);
  }
}

TEST_CASE("reduce_on_plateau gives Keras's learning rates") {
  for (const json& expected : golden("reduce_on_plateau")) {
    CAPTURE(json_text(expected));
    const json& options = expected.at("options");
    ReduceOnPlateau plateau;
    plateau.watched = watched_in(options);
    plateau.factor = options.at("factor");
    plateau.patience = options.at("patience");
    plateau.min_delta = options.at("min_delta");
    plateau.cooldown = options.at("cooldown");
    plateau.min_learning_rate = options.at("min_lr");
    const Callbacks callbacks({plateau}, 0.1);
    CallbackState state;
    std::vector<float> rates;
    for (const double value : values_in(expected)) {
      callbacks.end_epoch(epoch(static_cast<std::int64_t>(rates.size()) + 1, value), state);
      rates.push_back(static_cast<float>(state.learning_rate_from(0.1)));
    }
    CHECK(rates == expected.at("rates").get<std::vector<float>>());
  }
}

TEST_CASE("save_best saves Keras's epochs") {
  for (const json& expected : golden("save_best")) {
    CAPTURE(json_text(expected));
    const Callbacks callbacks({SaveBest{watched_in(expected.at("options"))}}, 0);
    CallbackState state;
    std::vector<std::int64_t> saved;
    std::int64_t number = 0;
    for (const double value : values_in(expected)) {
      callbacks.end_epoch(epoch(++number, value), state);
      if (callbacks.saves_best(state, number)) saved.push_back(number);
    }
    CHECK(saved == expected.at("saved").get<std::vector<std::int64_t>>());
  }
}

TEST_CASE("a callback watches loss or a metric, of validation or training, and knows which way is better") {
  const auto best_of = [](const WatchedMetric& watched) {
    const Callbacks callbacks({SaveBest{watched}}, 0);
    CallbackState state;
    callbacks.end_epoch(epoch(1, 0.5), state);
    callbacks.end_epoch(epoch(2, 0.7), state);
    return state.watches.at(0).best;
  };
  CHECK(best_of({{"loss", {}, {}}}) == 0.5);
  CHECK(best_of({{"loss", {}, {}}, MetricMode::kMax}) == 0.7);
  CHECK(best_of({{"accuracy", {}, {}}}) == -0.5);
  CHECK(best_of({{"loss", {}, {}}, MetricMode::kAuto, MetricSplit::kTrain}) == -0.7);
  CHECK(best_of({{"accuracy", {}, {}}, MetricMode::kAuto, MetricSplit::kTrain}) == 1.4);
  CHECK(WatchedMetric{{"mean_squared_error", {}, {}}}.less_is_better());
}

TEST_CASE("another learning rate in the configuration counts instead of the reduced one") {
  CallbackState state;
  state.learning_rate = ReducedRate{0.1, 0.01f};
  CHECK(state.learning_rate_from(0.1) == 0.01f);
  CHECK(state.learning_rate_from(0.2) == 0.2);
}

TEST_CASE("a longer patience lets a run that a callback ended continue") {
  EarlyStopping stopping;
  stopping.patience = 1;
  CallbackState state;
  const Callbacks short_one({stopping}, 0);
  for (std::int64_t number = 1; number < 3; ++number) short_one.end_epoch(epoch(number, 1), state);
  CHECK(short_one.stops(state));
  stopping.patience = 2;
  const Callbacks longer({stopping}, 0);
  CHECK_FALSE(longer.stops(state));
  longer.end_epoch(epoch(3, 1), state);
  CHECK(longer.stops(state));
}

TEST_CASE("what callbacks have seen is in a checkpoint's state") {
  CheckpointState before;
  before.callbacks = {"early_stopping of validation loss (min)", "save_best of training accuracy (max)"};
  CallbackState& callbacks = before.training.callbacks;
  callbacks.watches = {{0.1 + 0.2, 3, 2, 1, true}, {}};
  callbacks.learning_rate = ReducedRate{0.1, 0.01f};
  callbacks.kept_epoch = 3;
  const CheckpointState after = checkpoint_state_from(to_text(before));
  CHECK(after.callbacks == before.callbacks);
  CHECK(after.training.callbacks.watches == callbacks.watches);
  CHECK(after.training.callbacks.learning_rate == callbacks.learning_rate);
  CHECK(after.training.callbacks.kept_epoch == 3);
}

TEST_CASE("a callback that watches what the run does not have is an error at its line, with the name that was meant") {
  const auto errors_of = [](const std::string& callbacks, const std::string& more = "") {
    TemporaryFolder folder;
    write_file(folder / "a.yaml", std::string(kMlp) + "metrics: [accuracy]\n" + more + callbacks);
    config::Errors errors;
    look_at_configuration((folder / "a.yaml").string(), {}, errors);
    return errors.text();
  };
  CHECK(has_in_order(errors_of("callbacks:\n  - early_stopping: {patience: 2}\n"),
                     {"a.yaml:17:5: callbacks[0].early_stopping.metric: ", "no validation data", "'loss'",
                      "data.validation", "`split: train`"}));
  CHECK(has_in_order(errors_of("callbacks:\n  - early_stopping: {metric: acuracy, split: train}\n"),
                     {"a.yaml:17:30: callbacks[0].early_stopping.metric: ", "(loss, accuracy), found 'acuracy'; ",
                      "did you mean 'accuracy'?"}));
  CHECK(contains(errors_of("callbacks:\n  - early_stopping: {metric: val_accuracy}\n"),
                 "found 'val_accuracy'; write 'accuracy', which is that of the validation data unless"));
  CHECK(contains(errors_of("checkpoint: {save_best: {metric: auc, split: train}}\n"),
                 "checkpoint.save_best.metric: expected loss or one of the run's metrics (loss, accuracy), "
                 "found 'auc'; add it to metrics"));
  CHECK(contains(errors_of("callbacks: [{early_stopping: {monitor: loss}}]\n"), "did you mean 'metric'?"));
  CHECK(contains(errors_of("callbacks: [{reduce_on_plateau: {min_lr: 1}}]\n"), "did you mean 'min_learning_rate'?"));
  CHECK(contains(errors_of("callbacks: [{reduce_on_plateau: {factor: 1.5, split: train}}]\n"), "factor"));
  CHECK(errors_of("callbacks: [{early_stopping: {split: train}}, {reduce_on_plateau: {split: train}}]\n") ==
        config::Errors().text());
}

TEST_CASE("reduce_on_plateau is refused beside a schedule") {
  config::Errors errors;
  TemporaryFolder folder;
  write_file(folder / "a.yaml", kMlp);
  look_at_configuration((folder / "a.yaml").string(),
                        std::vector<std::string>{"callbacks=[{reduce_on_plateau: {split: train}}]",
                                                 "optimizer.learning_rate={schedule: exponential_decay, "
                                                 "initial_learning_rate: 0.1, decay_steps: 5, decay_rate: 0.5}"},
                        errors);
  CHECK(contains(errors.text(), "follows a schedule, which reduce_on_plateau cannot change"));
}

}  // namespace
}  // namespace mirrortrain
