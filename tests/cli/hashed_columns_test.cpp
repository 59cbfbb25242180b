// Words and numbers in bins, from the table to the predictions.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <string>

#include "base/json.h"
#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::hashed_columns_test {
namespace {

const std::string kShop = R"(data:
  global_batch_size: 8
  train:
    format: csv
    file: shop.csv
    inputs: {user: user, item: item, both: both, age: [age]}
    encoding: {user: {hashing: {num_bins: 12, mask_value: "", salt: 133}}, item: {hashing: {num_bins: 4, output_mode: one_hot}}}
    crosses: {both: {columns: [user, item], num_bins: 20}}
    missing: {user: constant}
    labels: sold
  validation: {fraction: 0.25}
  preprocessing:
    - discretization: {num_bins: 5, input: age}
model:
  inputs: {user: {shape: []}, item: {shape: [4]}, both: {shape: []}, age: {shape: [1]}}
  layers:
    - embedding: {input_dim: 12, output_dim: 4, mask_zero: true, inputs: [user], name: users}
    - embedding: {input_dim: 20, output_dim: 4, inputs: [both], name: pairs}
    - embedding: {input_dim: 5, output_dim: 4, inputs: [age], name: ages}
    - flatten: {inputs: [ages], name: old}
    - concatenate: {inputs: [users, item, pairs, old]}
    - dense: {units: 1}
loss: {type: binary_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.05}
training: {epochs: 20}
seed: 1
)";

struct ShopFixture {
  TemporaryFolder folder;

  ShopFixture() {
    std::string text = "age,user,item,sold\n";
    for (int i = 0; i < 120; ++i) text += row(i) + fmt::format(",{}\n", (i % 5 + i % 3) % 2);
    write_file(folder / "shop.csv", text);
    text = "item,user,age\n";
    for (int i = 0; i < 15; ++i) {
      const int age = 18 + i * 7 % 50;
      text += fmt::format("{},{},{}\n", item(i), user(i), age);
    }
    write_file(folder / "new.csv", text + "never seen,nobody,99\n");
  }
  static std::string user(int i) { return i % 5 == 4 ? "" : fmt::format("user {}", i % 5); }
  static std::string item(int i) { return fmt::format("item {}", i % 3); }
  static std::string row(int i) { return fmt::format("{},{},{}", 18 + i * 7 % 50, user(i), item(i)); }

  Outcome check(const std::string& text) {
    write_file(folder / "s.yaml", text);
    return run_program(folder, "config check s.yaml");
  }
};

TEST_CASE_FIXTURE(ShopFixture, "a model of hashed, crossed and binned columns learns, and predicts for new rows") {
  REQUIRE_MESSAGE(check(kShop).exit_code == 0, check(kShop).err);
  const Outcome fit = run_program(folder, "fit s.yaml --run-dir run --set strategy.devices=[cpu:0,cpu:1]");
  REQUIRE_MESSAGE(fit.exit_code == 0, fit.err);
  REQUIRE(run_program(folder, "fit s.yaml --run-dir one --set strategy.devices=[cpu:0,cpu:0]").exit_code == 0);
  CHECK(read_text_file(folder / "one/model.safetensors") == read_text_file(folder / "run/model.safetensors"));
  CHECK(events_of(folder / "run/metrics.jsonl").back().at("status") == "done");

  const auto kept = parsed(read_text_file(folder / "run/preprocessing.json"));
  CHECK(kept.at("discretization").at(0).at("bin_boundaries").size() == 4);
  CHECK(json_text(kept.at("table").at("features")).find("\"salt\":133") != std::string::npos);
  const auto summary = parsed(read_text_file(folder / "run/summary.json"));
  fs::remove(folder / "shop.csv");  // what was adapted to it is with the run
  const Outcome predicted = run_program(folder, "predict run --data new.csv --output out.csv");
  REQUIRE_MESSAGE(predicted.exit_code == 0, predicted.err);
  std::ifstream lines(folder / "out.csv");
  std::string line;
  int rows = -1, right = 0;
  for (; std::getline(lines, line); ++rows) {
    if (rows >= 0 && rows < 15) right += line.starts_with(fmt::format("{},{}", rows, (rows % 5 + rows % 3) % 2));
  }
  CHECK(rows == 16);
  CHECK(right >= 13);
}

TEST_CASE_FIXTURE(ShopFixture, "bins that the model has no place for are refused") {
  const auto answers = [&](const std::string& from, const std::string& to, const std::string& answer) {
    const Outcome outcome = check(replaced(kShop, from, to));
    CHECK(outcome.exit_code != 0);
    CHECK_MESSAGE(contains(outcome.err, answer), outcome.err);
  };
  answers("num_bins: 12,", "num_bins: 13,",
          "has words in 13 bins: numbers from 0 to 12, but the embedding 'users' has");
  answers("mask_value: \"\", ", "", "in column 1 ('user') 0 is words of the first bin");
  answers("num_bins: 20}", "num_bins: 21}", "the crossing 'both' has words in 21 bins");
  answers("num_bins: 5,", "num_bins: 6,",
          "discretization has 6 bins: numbers from 0 to 5, but the embedding 'ages' has");
  answers("num_bins: 5, input: age}", "num_bins: 5, input: age}\n    - rescaling: {scale: 2, input: age}",
          "rescaling changes the numbers that the model's embedding looks up; leave it out");
  answers("output_mode: one_hot", "output_mode: count", "expected one of int, one_hot, found");
  answers("columns: [user, item]", "columns: [user]", "expected at least two columns to cross");
  answers("columns: [user, item]", "columns: [user, itme]", "did you mean 'item'?");
  answers("inputs: {user: user, item: item, both: both,", "inputs: {user: user, item: item, both: item,",
          "no input has this column; name it in 'inputs', or leave it out");
  answers("    - discretization: {num_bins: 5, input: age}",
          "    - random_flip: {input: age}\n    - discretization: {num_bins: 5, input: age}",
          "random_flip is for pictures, and discretization behind it puts numbers into bins; leave one of them out");
  answers("    - discretization: {num_bins: 5, input: age}",
          "    - discretization: {num_bins: 5, input: age}\n    - mix_up: {inputs: [item]}\n"
          "    - hashing: {num_bins: 9, output_mode: one_hot, input: item}",
          "mix_up mixes examples of which each number is in its bin; put it behind hashing");
}

}  // namespace
}  // namespace mirrortrain::testing::hashed_columns_test
