// Data that are larger than data.memory: the same bits as of data in memory, whatever their format.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/program.h"
#include "data/files.h"

namespace mirrortrain::testing::by_position_test {
namespace {

constexpr std::int64_t kExamples = 300, kFeatures = 12;

/// A configuration for each format, and what is fed in another way.
struct ByPosition {
  TemporaryFolder folder;
  std::string cache = " --set data.cache_directory=" + (folder.path() / "cache").string();

  ByPosition() {
    std::vector<float> features;
    std::vector<double> targets;
    std::vector<std::uint8_t> pixels, classes;
    for (std::int64_t i = 0; i < kExamples * kFeatures; ++i) {
      features.push_back(static_cast<float>(std::sin(static_cast<double>(i) * 0.7) * 3));
      pixels.push_back(static_cast<std::uint8_t>(i * 31 % 256));
    }
    for (std::int64_t i = 0; i < kExamples; ++i) {
      classes.push_back(static_cast<std::uint8_t>(i * 7 % 3));
      for (int k = 0; k < 4; ++k) targets.push_back(std::cos(static_cast<double>(i * 4 + k)));
    }
    const auto bytes = [](const auto& numbers) { return data::bytes_of(numbers); };
    const std::string shape = fmt::format("({}, {})", kExamples, kFeatures), one = fmt::format("({},)", kExamples);
    const std::string x = data::npy("<f4", false, shape, bytes(features)),
                      y = data::npy("|u1", false, one, bytes(classes));
    write_file(folder / "x.npy", x);
    write_file(folder / "y.npy", y);
    write_file(folder / "targets.npy", data::npy("<f8", false, fmt::format("({}, 4)", kExamples), bytes(targets)));
    write_file(folder / "stored.npz", data::zip({{"x.npy", x}, {"y.npy", y}}));
    write_file(folder / "deflated.npz", data::zip({{"x.npy", x, true}, {"y.npy", y, true}}));
    const auto rows = static_cast<std::uint32_t>(kExamples);
    const std::string images = data::idx(8, {rows, 3, 4}, bytes(pixels)), labels = data::idx(8, {rows}, bytes(classes));
    write_file(folder / "images", images);
    write_file(folder / "images.gz", data::gzip(images));
    write_file(folder / "labels", labels);
    write_file(folder / "pixels.npy", data::npy("|u1", false, fmt::format("({}, 3, 4, 1)", kExamples), bytes(pixels)));
    std::string text;
    while (text.size() < 8000) text += text.size() % 3 == 0 ? "birds sing, " : "and bees hum.\n";
    write_file(folder / "text.txt", text);
    config("npy", "{format: npy, features: x.npy, labels: y.npy}", "[normalization: {adapt: true}]", "[12]", kClasses);
    config("targets", "{format: npy, features: x.npy, labels: targets.npy}", "[]", "[12]", kTargets);
    config("stored", "{format: npz, file: stored.npz}", "[rescaling: {scale: 0.3}]", "[12]", kClasses);
    config("deflated", "{format: npz, file: deflated.npz}", "[rescaling: {scale: 0.3}]", "[12]", kClasses);
    config("idx", "{format: idx, images: images, labels: labels}", "[rescaling: {scale: 0.0039}]", "[3, 4, 1]",
           kClasses);
    config("idx_gz", "{format: idx, images: images.gz, labels: labels}", "[rescaling: {scale: 0.0039}]", "[3, 4, 1]",
           kClasses);
    config("pictures", "{format: npy, features: pixels.npy, labels: y.npy}",
           "[random_flip, {random_rotation: {factor: 0.1}}, {rescaling: {scale: 0.0039}}]", "[3, 4, 1]", kClasses);
    std::string table = "x,color,size,y\n";
    for (std::int64_t i = 0; i < kExamples; ++i) {
      table += fmt::format("{},{},{},{}\n", std::sin(static_cast<double>(i)), i % 3 == 0 ? "\"red\"" : "green",
                           i % 11 == 0 ? "" : std::to_string(i % 10), i * 7 % 3 == 0 ? "yes" : "no");
    }
    write_file(folder / "table.csv", table);
    write_file(folder / "table.csv.gz", data::gzip(table));
    for (const std::string name : {"csv", "csv.gz"}) {
      config(name, "{format: csv, file: table." + name + ", labels: y, missing: mean, encoding: {color: one_hot}}",
             "[normalization: {adapt: true}]", "[4]", kClasses);
    }
    config("text", "{format: text, files: text.txt, window: 20, stride: 7}", "[]", "[20]", kTokens);
  }

  static constexpr const char* kClasses =
      "    - flatten\n    - dense: {units: 8, activation: relu}\n    - dropout: {rate: 0.1}\n    - dense: {units: 3}\n"
      "loss: sparse_categorical_crossentropy\n";
  static constexpr const char* kTargets =
      "    - dense: {units: 8, activation: relu}\n    - dense: {units: 4}\nloss: mean_squared_error\n";
  static constexpr const char* kTokens =
      "    - embedding: {input_dim: 256, output_dim: 4}\n    - dense: {units: 256}\n"
      "loss: sparse_categorical_crossentropy\n";

  void config(const std::string& name, const std::string& source, const std::string& preprocessing,
              const std::string& input, const std::string& rest) {
    write_file(folder / (name + ".yaml"),
               "seed: 3\ndata:\n  global_batch_size: 16\n  train: " + source +
                   "\n  validation: {fraction: 0.2, shuffle: true}\n  preprocessing: " + preprocessing +
                   "\nmodel:\n  input_shape: " + input + "\n  layers:\n" + rest +
                   "optimizer: {type: adam, learning_rate: 0.01}\ntraining: {epochs: 3}\n"
                   "strategy: {devices: [cpu:0, cpu:1]}\nlogging: {every_steps: 1}\n");
  }

  Outcome fit(const std::string& arguments) { return run_program(folder, "fit " + arguments + cache); }
  std::string weights(const std::string& run) { return read_text_file(folder / run / "model.safetensors"); }
  std::vector<nlohmann::json> events(const std::string& run) {
    return timeless(events_of(folder / run / "metrics.jsonl"));
  }
};

TEST_CASE_FIXTURE(ByPosition, "three epochs of data by position give the bits of the same data in memory") {
  for (const std::string name :
       {"npy", "targets", "stored", "deflated", "idx", "idx_gz", "pictures", "text", "csv", "csv.gz"}) {
    CAPTURE(name);
    const Outcome held = fit(name + ".yaml --run-dir held-" + name);
    REQUIRE_MESSAGE(held.exit_code == 0, held.err);
    const Outcome read = fit(name + ".yaml --run-dir read-" + name + " --set data.memory=1000B");
    REQUIRE_MESSAGE(read.exit_code == 0, read.err);
    CHECK(weights("held-" + name) == weights("read-" + name));
    CHECK(events("held-" + name) == events("read-" + name));
    const Outcome evaluated = run_program(folder, "eval read-" + name + " --split validation --json -");
    CHECK_MESSAGE(evaluated.exit_code == 0, evaluated.err);
    CHECK(evaluated.out == run_program(folder, "eval held-" + name + " --split validation --json -").out);
  }
  const Outcome listed = run_program(folder, "cache list --directory cache");
  CHECK(listed.out.find("cache: 3 files, 0.0 MiB\n") != std::string::npos);
  const Outcome cleaned = run_program(folder, "cache clean --directory cache");
  CHECK(cleaned.out.find("cache: removed 3 files, 0.0 MiB\n") != std::string::npos);
  CHECK(fs::is_empty(folder / "cache"));
  CHECK(run_program(folder, "cache list --directory none").exit_code == 2);
}

TEST_CASE_FIXTURE(ByPosition, "a run by position that was killed resumes with the bits of one that was not") {
  for (const std::string name : {"npy", "deflated", "text", "csv"}) {
    CAPTURE(name);
    const std::string options = " --set training.epochs=200 --set checkpoint.every_steps=20";
    REQUIRE(fit(name + ".yaml --run-dir whole" + options).exit_code == 0);
    const std::string killed = name + ".yaml --run-dir killed" + options + cache + " --set data.memory=1000B";
    run_script(folder, "\"$MIRRORTRAIN\" fit " + killed + " & " + until_checkpoint("killed") + "kill -9 $!; wait");
    REQUIRE_FALSE(fs::exists(folder / "killed" / "model.safetensors"));
    const Outcome resumed = run_program(folder, "fit " + killed + " --resume");
    CHECK_MESSAGE(resumed.exit_code == 0, resumed.err);
    CHECK(weights("killed") == weights("whole"));
    fs::remove_all(folder / "killed");
    fs::remove_all(folder / "whole");
  }
}

TEST_CASE_FIXTURE(ByPosition,
                  "two runs that fill one cache, one of which is killed while it unpacks, leave what a run needs") {
  std::string table = "x,color,size,y\n";
  std::uint32_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525 + 1013904223;
    table += fmt::format("{},{},{},{}\n", state, state >> 31 != 0 ? "red" : "green", state >> 8 & 255,
                         state >> 16 & 1 ? "yes" : "no");
  }
  write_file(folder / "table.csv.gz", data::gzip(table));
  const std::string command = "\"$MIRRORTRAIN\" fit csv.gz.yaml --set training.steps=3 --set data.memory=1000B" + cache;
  run_script(folder, command + " --run-dir killed & killed=$!; " + command +
                         " --run-dir other & other=$!; "
                         "for i in $(seq 500); do ls cache/*.tmp > /dev/null 2>&1 && break; sleep 0.005; done; "
                         "kill -9 $killed; wait $other; echo $? > status");
  CHECK(read_text_file(folder / "status") == "0\n");
  const Outcome again = fit("csv.gz.yaml --run-dir again --set training.steps=3 --set data.memory=1000B");
  REQUIRE_MESSAGE(again.exit_code == 0, again.err);
  CHECK(weights("again") == weights("other"));
  const Outcome held = fit("csv.gz.yaml --run-dir held --set training.steps=3");
  REQUIRE_MESSAGE(held.exit_code == 0, held.err);
  CHECK(weights("again") == weights("held"));
  CHECK(run_program(folder, "cache list --directory cache").out.find("left by a run") == std::string::npos);
}

TEST_CASE_FIXTURE(ByPosition, "a table that changes ends a run, with the file's name") {
  const Outcome outcome = run_script(
      folder,
      "\"$MIRRORTRAIN\" fit csv.yaml --run-dir changing --set training.epochs=100000 --set data.memory=1000B & "
      "pid=$!; while [ ! -s changing/metrics.jsonl ] && kill -0 $pid; do sleep 0.01; done; sleep 0.2; truncate -s 1000 "
      "table.csv; wait "
      "$pid");
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.err.find("table.csv: this data file ") != std::string::npos);
}

TEST_CASE_FIXTURE(ByPosition, "data that change end a run, with the file's name") {
  const Outcome outcome = run_script(
      folder,
      "\"$MIRRORTRAIN\" fit npy.yaml --run-dir changing --set training.epochs=100000 --set "
      "data.memory=1000B & pid=$!; while [ ! -s "
      "changing/metrics.jsonl ] && kill -0 $pid; do sleep 0.01; done; sleep 0.2; truncate -s 1000 x.npy; wait $pid");
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.err.find("x.npy: this data file became shorter, 1000 bytes of ") != std::string::npos);
}

}  // namespace
}  // namespace mirrortrain::testing::by_position_test
