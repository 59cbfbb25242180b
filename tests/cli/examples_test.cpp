// The examples of docs/examples.md learn what they are said to learn: models with several inputs, outputs and losses.
#include <doctest/doctest.h>

#include <cmath>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::examples_test {
namespace {

using nlohmann::json;

struct Fixture {
  TemporaryFolder folder;

  /// The metrics on the test data of the example, trained into the folder `run`.
  json fit(const std::string& example) {
    const Outcome outcome = program("fit --run-dir run '" + repository_file("configs/" + example + ".yaml") + "'");
    for (const json& event : events_of(folder / "run/metrics.jsonl")) {
      if (event.at("event") == "evaluation") return event.at("metrics");
    }
    FAIL(outcome.err);
    return {};
  }
  json evaluate(const std::string& options) { return parsed(program("eval run --json - " + options).out); }
  Outcome program(const std::string& arguments) {
    const Outcome outcome = run_program(folder, arguments);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return outcome;
  }
};

TEST_CASE_FIXTURE(Fixture, "recommender knows readers and books by their numbers, and no others") {
  // The vectors' dot product is what makes the difference: without it r2_score is 0.26.
  CHECK(fit("recommender").at("r2_score").get<double>() > 0.55);
  write_file(folder / "new.csv", "book,reader\n3,7\n79,199\n");
  CHECK(program("predict run --data new.csv").out.starts_with("index,prediction\n0,"));
  write_file(folder / "new.csv", "book,reader\n3,7\n80,1\n");
  const Outcome outcome = run_program(folder, "predict run --data new.csv");
  CHECK(outcome.exit_code != 0);
  CHECK(contains(outcome.err,
                 "new.csv:3: row 1 (counting from 0): 80 of the input 'book' is no whole number from 0 to 79"));
}

TEST_CASE_FIXTURE(Fixture, "wide-and-deep prices diamonds by words and numbers") {
  CHECK(fit("wide-and-deep").at("r2_score").get<double>() > 0.95);
}

TEST_CASE_FIXTURE(Fixture, "siamese-fashion has one tower, so that swapped pictures get the same answer") {
  CHECK(fit("siamese-fashion").at("accuracy").get<double>() > 0.76);
  CHECK(evaluate("") == evaluate("--set data.test.inputs.left=right --set data.test.inputs.right=left"));
}

TEST_CASE_FIXTURE(Fixture, "multi-task counts a penguin of unknown sex for its species and mass alone") {
  const json metrics = fit("multi-task");
  CHECK(metrics.at("species_accuracy").get<double>() > 0.95);
  CHECK(metrics.at("sex_accuracy").get<double>() > 0.7);
  CHECK(metrics.at("mass_mean_absolute_error").get<double>() < 0.4);

  const json evaluation = evaluate("--set data.global_batch_size=7");
  CHECK(evaluation.at("metrics") == metrics);
  const auto examples = [&](const char* output) {
    int sum = 0;
    for (const json& one : evaluation.at("outputs").at(output).at("classes")) sum += one.at("examples").get<int>();
    return sum;
  };
  CHECK(examples("species") == 80);
  CHECK(examples("sex") == 78);
  CHECK(program("predict run --data '" + repository_file("data/penguins/test.csv") + "'")
            .out.starts_with("index,species,species_name,sex,sex_name,mass\n"));
}

TEST_CASE_FIXTURE(Fixture, "pictures-and-table decodes the pictures that a table names") {
  // The numbers alone tell 86 % of the materials.
  CHECK(fit("pictures-and-table").at("accuracy").get<double>() > 0.9);
}

TEST_CASE_FIXTURE(Fixture,
                  "text-column learns from a column of texts what sentiment-lstm learns from numbers of words") {
  CHECK(fit("text-column").at("accuracy").get<double>() > 0.95);
  write_file(folder / "new.csv", "text\nthe plot was very good\nhonestly the acting was not great\n");
  const std::string predicted = program("predict run --data new.csv --keep text").out;
  CHECK(contains(predicted, "praise,the plot was very good\n"));
  CHECK(contains(predicted, "blame,honestly the acting was not great\n"));
}

TEST_CASE_FIXTURE(Fixture, "quantiles has about a tenth, a half and nine tenths of the prices below its outputs") {
  const json metrics = fit("quantiles");
  CHECK(std::abs(metrics.at("low_below").get<double>() - 0.1) < 0.12);
  CHECK(std::abs(metrics.at("middle_below").get<double>() - 0.5) < 0.2);
  CHECK(std::abs(metrics.at("high_below").get<double>() - 0.9) < 0.12);
  // The loss of the median is half the distance.
  CHECK(metrics.at("middle_loss").get<double>() ==
        doctest::Approx(metrics.at("middle_mean_absolute_error").get<double>() / 2).epsilon(1e-5));
}

}  // namespace
}  // namespace mirrortrain::testing::examples_test
