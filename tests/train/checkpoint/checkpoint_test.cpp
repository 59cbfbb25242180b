// What is wrong with a checkpoint is found, and what cannot be known is not guessed.
#include "train/checkpoint/checkpoint.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <memory>

#include "base/files.h"
#include "error_text.h"
#include "temporary_folder.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/checkpoint/checkpoint_snapshot.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

StepSums sums_of(double loss, double metric) {
  StepSums sums(1, 1);
  sums.loss = loss;
  sums.metrics[0] = metric;
  sums.examples = 40;
  return sums;
}

CheckpointState some_state() {
  CheckpointState state;
  state.training.step = 120;
  state.training.updates = 60;
  state.training.position = {3, 40};
  state.training.epoch_sums = sums_of(1.0 / 3, std::numeric_limits<double>::quiet_NaN());
  state.training.step_sums = sums_of(std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity());
  state.training.validated_epoch = 2;
  state.training.last_epoch.train = report::Scores{0.25, {{"accuracy", 0.5}}};
  state.seed = 7;
  state.data = {"43 examples, labels 1f3a9c02, features 77b01e55", "5 examples, labels 1, features 2"};
  state.replicas = 2;
  state.policies["dense/kernel"] = {};
  state.metrics = {"accuracy"};
  state.events = 123;
  state.checksums = {{"model.safetensors", 4000000000u}, {"training.safetensors", 5}};
  return state;
}

TEST_CASE("state.json reads back as it was, NaN and infinity included") {
  const CheckpointState before = some_state();
  const CheckpointState after = checkpoint_state_from(to_text(before));
  CHECK(to_text(after) == to_text(before));
  CHECK(after.training.epoch_sums.loss == before.training.epoch_sums.loss);
  CHECK(std::isnan(after.training.epoch_sums.metrics.at(0)));
  CHECK(after.training.step_sums.loss == std::numeric_limits<double>::infinity());
  CHECK(after.training.step_sums.metrics.at(0) == -std::numeric_limits<double>::infinity());
  CHECK(after.training.last_epoch.train->metrics.at(0).second == 0.5);
  CHECK_FALSE(after.training.last_epoch.validation);
  CHECK(after.checksums == before.checksums);
  CHECK(after.data == before.data);
}

TEST_CASE("every single flipped bit of state.json is damage, and so is every shorter file") {
  const std::string text = to_text(some_state());
  std::size_t found = 0;
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    try {
      checkpoint_state_from(flipped);
    } catch (const Damaged&) {
      ++found;
    }
  }
  CHECK(found == 8 * text.size());
  for (std::size_t size = 0; size < text.size(); ++size) {
    CHECK_THROWS_AS(checkpoint_state_from(text.substr(0, size)), Damaged);
  }
}

TEST_CASE("a checkpoint of another version is refused, and not taken for damaged") {
  CHECK(contains(error_text([] { checkpoint_state_from(R"({"format": 1, "step": 3})"); }), "format 1"));
  const auto read_format = [](const std::string& number) {
    return error_text([&] { checkpoint_state_from(with_checksum("{\"format\": " + number)); });
  };
  CHECK(contains(read_format("6666666666"), "too large"));
  CHECK(contains(read_format("6" + std::string(39, '6')), "expected an integer"));
}

TEST_CASE("a state.json of other types and words is refused") {
  CHECK_THROWS_AS(checkpoint_state_from("{\"format\": \"x\"}"), Damaged);
  CheckpointState state = some_state();
  state.policies["a"] = {Synchronization::kOnRead, Aggregation::kSum};
  std::string text = to_text(state);
  text.replace(text.find("on_read"), 7, "on_hope");
  text.resize(text.rfind(",\n  \"checksum\""));
  CHECK_THROWS_WITH_AS(checkpoint_state_from(with_checksum(text)),
                       "state.json names 'on_hope', which this version of mirrortrain does not know", Error);
}

TEST_CASE("a checkpoint written variable by variable has the bytes of one from a copy") {
  Training training(kMlp, {R"(variables=[{match: "dense/*", aggregation: none}])", "gradients.accumulate_steps=2",
                           R"(state=[{name: seen, initial_value: 0, assign_add: 1}])"});
  training.steps(3);
  const CheckpointNames names{training.checked.model->slot_names(), training.checked.model->metric_sum_names()};
  CheckpointState state;
  state.training = training.state;
  StoredTensor best{DType::kFloat32, {2}, std::vector<std::byte>(8)};
  state.training.callbacks.kept = std::make_shared<StoredTensors>(StoredTensors{{"dense/kernel", best}});
  const fs::path whole = training.folder() / "step-000003", parts = training.folder() / "parts" / "step-000003",
                 copy = training.folder() / "parts" / "best";
  fs::create_directory(parts.parent_path());
  CHECK(CheckpointSnapshot(state, *training.strategy, names).write({whole}));
  CHECK(write_checkpoint_in_parts({copy, parts}, state, *training.strategy, names));
  for (const char* file : {"model.safetensors", "training.safetensors", "state.json"}) {
    CAPTURE(file);
    CHECK(read_file(parts / file) == read_file(whole / file));
    CHECK(read_file(copy / file) == read_file(whole / file));
  }
  CHECK(std::distance(fs::directory_iterator(parts.parent_path()), fs::directory_iterator()) == 2);
}

TEST_CASE("flipped bits of a checkpoint's other files are damage") {
  Training training(kMlp);
  training.steps(2);
  const fs::path folder = training.folder() / "checkpoints";
  Checkpoints(folder, *training.strategy,
              {training.checked.model->slot_names(), training.checked.model->metric_sum_names()}, {})
      .save(training.state, 1);
  const fs::path checkpoint = folder / "step-000002";
  for (const char* name : {"model.safetensors", "training.safetensors"}) {
    CAPTURE(name);
    const std::string whole = read_text_file(checkpoint / name);
    for (std::size_t bit = 0; bit < 8 * whole.size(); bit += 61) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      std::ofstream(checkpoint / name, std::ios::binary) << flipped;
      CHECK_THROWS_AS(open_checkpoint(checkpoint), Damaged);
    }
    std::ofstream(checkpoint / name, std::ios::binary) << whole;
    CHECK(open_checkpoint(checkpoint).state.training.step == 2);
    fs::remove(checkpoint / name);
    CHECK_THROWS_AS(open_checkpoint(checkpoint), Damaged);
    std::ofstream(checkpoint / name, std::ios::binary) << whole;
  }
}

TEST_CASE("a save that fails leaves nothing behind, and the next names why") {
  Training training(kMlp);
  training.steps(1);
  const fs::path folder = training.folder() / "checkpoints";
  std::ofstream(folder) << "no folder";
  Checkpoints checkpoints(folder, *training.strategy, {training.checked.model->slot_names(), {}}, {});
  checkpoints.save(training.state, 1);
  CHECK(contains(error_text([&] { checkpoints.finish(); }), "cannot create the folder"));
  fs::remove(folder);
  checkpoints.save(training.state, 1);
  checkpoints.finish();
  CHECK(newest_checkpoint(folder) == folder / "step-000001");
}

TEST_CASE("the newest checkpoint without NaN is kept beside newer ones") {
  Training training(kMlp);
  const fs::path folder = training.folder() / "checkpoints";
  Checkpoints checkpoints(folder, *training.strategy, {training.checked.model->slot_names(), {}}, {});
  training.steps(1);
  checkpoints.save(training.state, 2);
  training.strategy->change_variables(Lasting::kValues, [](const LastingVariable& variable) {
    if (variable.index == 0) variable.value.copy(0).as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  });
  for (int i = 0; i < 4; ++i) {
    ++training.state.step;
    checkpoints.save(training.state, 2);
  }
  checkpoints.finish();
  CHECK(checkpoints_in(folder) ==
        std::vector<fs::path>{folder / "step-000001", folder / "step-000004", folder / "step-000005"});
}

TEST_CASE("a checkpoint is saved again under the same step") {
  Training training(kMlp);
  const fs::path folder = training.folder() / "checkpoints";
  Checkpoints checkpoints(folder, *training.strategy, {training.checked.model->slot_names(), {}}, {});
  training.steps(1);
  checkpoints.save(training.state, 2);
  training.state.validated_epoch = 9;
  checkpoints.save(training.state, 2);
  checkpoints.finish();
  CHECK(open_checkpoint(folder / "step-000001").state.training.validated_epoch == 9);
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
}

TEST_CASE("a checkpoint is replaced where names cannot be exchanged, and found if that was interrupted") {
  const TemporaryFolder work;
  const fs::path folder = work.path();
  const auto make = [&](const char* name, const char* text) {
    fs::create_directory(folder / name);
    write_file(folder / name / "state.json", text);
  };
  const auto text = [&](const char* name) { return read_text_file(folder / name / "state.json"); };
  make("best", "old");
  make("best.unfinished", "new");
  name_checkpoint(folder / "best.unfinished", folder / "best", [](const fs::path&, const fs::path&) { return false; });
  CHECK(text("best") == "new");
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  make("best.unfinished", "newer");
  name_checkpoint(folder / "best.unfinished", folder / "best");
  CHECK(text("best") == "newer");
  fs::rename(folder / "best", folder / "best.replaced");  // killed between the two renames
  make("best.unfinished", "newest");
  restore_replaced(folder);
  CHECK(text("best") == "newer");
  make("best.replaced", "old");  // killed behind them
  restore_replaced(folder);
  remove_unfinished(folder);
  CHECK(text("best") == "newer");
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
}

}  // namespace
}  // namespace mirrortrain
