// The examples of configs/ that show distribution give what their comments and docs/distribution.md say.
#include <doctest/doctest.h>

#include "cli/program.h"

namespace mirrortrain::testing::configs_test {
namespace {

using nlohmann::json;

struct Fixture {
  TemporaryFolder folder;

  Outcome fit(const std::string& config, const std::string& run, const std::string& options = "") {
    return run_program(
        folder, fmt::format("fit '{}' --run-dir {} {}", repository_file("configs/" + config + ".yaml"), run, options));
  }
  std::string model(const std::string& run) { return read_text_file(folder / run / "model.safetensors"); }
  std::vector<json> events(const std::string& run, const std::string& kind) {
    std::vector<json> all = timeless(events_of(folder / run / "metrics.jsonl"));
    std::erase_if(all, [&](const json& event) { return event["event"] != kind; });
    return all;
  }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE_FIXTURE(Fixture, "variable-synchronization counts 10, 20, 30") {
  const Outcome outcome = fit("variable-synchronization", "a");
  REQUIRE(outcome.exit_code == 0);
  CHECK(contains(outcome.err + outcome.out, "epoch 3/3  done  shared_variable 30  read_as_sum 45 [15, 30]"));
  const std::vector<json> epochs = events("a", "epoch");
  REQUIRE(epochs.size() == 3);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    const int steps = 5 * epoch;
    const auto expected = [&](const json& value) { return json{{"value", value}, {"replicas", {steps, 2 * steps}}}; };
    const json& state = epochs[static_cast<std::size_t>(epoch - 1)]["state"];
    CHECK(state["shared_variable"] == json{{"value", 2 * steps}, {"replicas", {2 * steps, 2 * steps}}});
    CHECK(state["read_as_sum"] == expected(3 * steps));
    CHECK(state["read_as_mean"] == expected(1.5 * steps));
    CHECK(state["own_copies"] == expected(steps));
    CHECK(state["locally_owned"] == expected(nullptr));
    CHECK_FALSE(epochs[static_cast<std::size_t>(epoch - 1)].contains("loss"));
  }
  CHECK_FALSE(fs::exists(folder / "a/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "a state variable's type cannot change while its run goes on") {
  REQUIRE(fit("variable-synchronization", "a", "--set training.epochs=1").exit_code == 0);
  const Outcome outcome = fit("variable-synchronization", "a", "--resume --set state[0].dtype=int64");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "the type of state 'shared_variable' changed since this run began"));
}

TEST_CASE_FIXTURE(Fixture, "an optimizer that keeps more than before cannot take over a run") {
  REQUIRE(fit("aggregation-methods", "a", "--set training.epochs=1").exit_code == 0);
  const Outcome outcome = fit("aggregation-methods", "a", "--resume --set optimizer.momentum=0.9");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "optimizer.momentum changed since this run began: 0.0 in a/config.yaml, 0.9 now"));
}

TEST_CASE_FIXTURE(Fixture, "variable-aggregation learns under each aggregation, and differently") {
  const std::string short_run = "--set training.epochs=2 ";
  const auto loss = [&](const std::string& run, std::size_t epoch) {
    return events(run, "epoch").at(epoch)["loss"].get<double>();
  };
  for (const char* aggregation : {"mean", "sum", "only_first_replica", "none"}) {
    CAPTURE(aggregation);
    const std::string rule = fmt::format("--set variables[0].aggregation={}", aggregation);
    REQUIRE(fit("variable-aggregation", aggregation, short_run + rule).exit_code == 0);
    CHECK(loss(aggregation, 1) < loss(aggregation, 0));
    // Evaluation takes what the run's weights file holds.
    REQUIRE(run_program(folder, fmt::format("eval {0} --json {0}/eval.json", aggregation)).exit_code == 0);
    CHECK(parsed(read_text_file(folder / aggregation / "eval.json"))["loss"] ==
          events(aggregation, "evaluation").at(0)["loss"]);
  }
  CHECK(model("sum") != model("mean"));
  CHECK(model("only_first_replica") != model("mean"));
  // Replica 0 on its own goes the way on which only_first_replica takes everybody; the other one goes its own.
  CHECK(model("none") == model("only_first_replica"));
  CHECK(loss("none", 1) != loss("only_first_replica", 1));
  // Two equal parts: the sum is twice the mean, and half the rate makes up for it to the last bit.
  REQUIRE(fit("variable-aggregation", "half",
              short_run + "--set variables[0].aggregation=sum --set optimizer.learning_rate=0.005")
              .exit_code == 0);
  CHECK(model("half") == model("mean"));
}

TEST_CASE_FIXTURE(Fixture, "aggregation-methods gives the same line whatever the method") {
  for (const char* method : {"add_n", "tree", "accumulate_n", "experimental_tree", "experimental_accumulate_n"}) {
    CAPTURE(method);
    REQUIRE(
        fit("aggregation-methods", method, fmt::format("--set gradients.aggregation_method={}", method)).exit_code ==
        0);
    CHECK(model(method) == model("add_n"));
  }
  const std::vector<json> epochs = events("add_n", "epoch");
  CHECK(epochs.front()["loss"].get<double>() == doctest::Approx(241));
  CHECK(epochs.back()["loss"].get<double>() == doctest::Approx(1.0 / 6).epsilon(1e-3));
}

TEST_CASE_FIXTURE(Fixture, "mirrored-fashion gives the same bits however two replicas' gradients are added") {
  const std::string short_run = "--set training.epochs=1 --set strategy.cross_device_ops=";
  const Outcome outcome = fit("mirrored-fashion", "hierarchical_copy", short_run + "hierarchical_copy");
  REQUIRE(outcome.exit_code == 0);
  CHECK(contains(outcome.err + outcome.out,
                 "hierarchical_copy adds the gradients of 2 replicas, by add_n; 2 gradient buckets"));
  CHECK(events("hierarchical_copy", "evaluation").at(0)["metrics"]["accuracy"].get<double>() > 0.6);
  for (const char* other : {"auto", "ring", "reduction_to_one_device"}) {
    CAPTURE(other);
    REQUIRE(fit("mirrored-fashion", other, short_run + other).exit_code == 0);
    CHECK(model(other) == model("hierarchical_copy"));
  }
}

TEST_CASE_FIXTURE(Fixture, "fashion-lstm tells clothing from its rows") {
  REQUIRE(fit("fashion-lstm", "rows").exit_code == 0);
  CHECK(events("rows", "evaluation").at(0)["metrics"]["accuracy"].get<double>() > 0.70);
}

TEST_CASE_FIXTURE(Fixture, "series-gru tells the next value of a series") {
  REQUIRE(fit("series-gru", "series").exit_code == 0);
  CHECK(events("series", "evaluation").at(0)["metrics"]["r2_score"].get<double>() > 0.94);
}

TEST_CASE_FIXTURE(Fixture, "sentiment-lstm tells praise from blame, whatever stands behind the last word") {
  REQUIRE(fit("sentiment-lstm", "reviews").exit_code == 0);
  CHECK(events("reviews", "evaluation").at(0)["metrics"]["accuracy"].get<double>() > 0.95);
  REQUIRE(run_program(folder, "eval reviews --set data.global_batch_size=7 --json eval.json").exit_code == 0);
  CHECK(parsed(read_text_file(folder / "eval.json"))["metrics"] == events("reviews", "evaluation").at(0)["metrics"]);
}

TEST_CASE_FIXTURE(Fixture, "one-device gives tiny's losses but for rounding") {
  const std::string short_run = "--set training.epochs=1";
  const Outcome outcome = fit("one-device", "one", short_run);
  REQUIRE(outcome.exit_code == 0);
  CHECK(contains(outcome.err + outcome.out, "global batch 64 = 1 replica x 64"));
  REQUIRE(fit("tiny", "two", short_run).exit_code == 0);
  CHECK(events("one", "epoch").at(0)["loss"].get<double>() ==
        doctest::Approx(events("two", "epoch").at(0)["loss"].get<double>()).epsilon(1e-4));
}

}  // namespace
}  // namespace mirrortrain::testing::configs_test
