// Formats that other programs write: the bits of the same examples in another format, in memory and by position.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "cli/program.h"

namespace mirrortrain::testing::data_formats_test {
namespace {

/// The same examples in several formats: tools/reference/data_formats.py.
struct DataFormats {
  TemporaryFolder folder;
  std::string formats = std::string(MIRRORTRAIN_SOURCE_DIR) + "/tests/formats/";
  std::string cache = " --set data.cache_directory=" + (folder.path() / "cache").string();

  void config(const std::string& name, const std::string& source, const std::string& input,
              const std::string& preprocessing = "[]") {
    write_file(folder / (name + ".yaml"),
               "name: " + name + "\nseed: 3\ndata:\n  global_batch_size: 8\n  train: " + source +
                   "\n  validation: {fraction: 0.2, shuffle: true}\n  preprocessing: " + preprocessing +
                   "\nmodel:\n  input_shape: " + input +
                   "\n  layers:\n    - flatten\n    - dense: {units: 8, activation: relu}\n    - dense: {units: 3}\n"
                   "loss: {type: sparse_categorical_crossentropy, from_logits: true}\nmetrics: [accuracy]\n"
                   "optimizer: {type: adam, learning_rate: 0.01}\ntraining: {epochs: 3}\n"
                   "strategy: {devices: [cpu:0, cpu:1]}\n");
  }

  /// Trains; false where the program was built without the format's library, which it says.
  bool fits(const std::string& name, const std::string& run, const std::string& options = "") {
    const Outcome outcome = run_program(folder, "fit " + name + ".yaml --run-dir " + run + cache + options);
    for (const char* absent : {"this program cannot read", "was built without the library"}) {
      if (outcome.exit_code == 1 && outcome.err.find(absent) != std::string::npos) return false;
    }
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return true;
  }
  std::string weights(const std::string& run) { return read_text_file(folder / run / "model.safetensors"); }

  /// In memory, by position, and both killed and resumed: the weights of the run `same`.
  void check(const std::string& name, const std::string& same) {
    CAPTURE(name);
    if (!fits(name, "held-" + name)) return;
    CHECK(weights("held-" + name) == weights(same));
    CHECK(fits(name, "read-" + name, " --set data.memory=1000B"));
    CHECK(weights("read-" + name) == weights(same));
    const std::string options = " --set training.epochs=200 --set checkpoint.every_steps=20 --set data.memory=1000B";
    CHECK(fits(name, "whole-" + name, options));
    const std::string killed = name + ".yaml --run-dir killed-" + name + options + cache;
    run_script(folder,
               "\"$MIRRORTRAIN\" fit " + killed + " & " + until_checkpoint("killed-" + name) + "kill -9 $!; wait");
    const Outcome resumed = run_program(folder, "fit " + killed + " --resume");
    CHECK_MESSAGE(resumed.exit_code == 0, resumed.err);
    CHECK(weights("killed-" + name) == weights("whole-" + name));
  }
};

TEST_CASE_FIXTURE(DataFormats, "arrays in HDF5 train to the bits of the same arrays in npz") {
  config("npz", "{format: npz, file: " + formats + "same.npz, prefix: train}", "[6]");
  config("plain", "{format: hdf5, file: " + formats + "same.h5, features: x, labels: y}", "[6]");
  config("deflated", "{format: hdf5, file: " + formats + "same.h5, features: x_deflated, labels: y}", "[6]");
  REQUIRE(fits("npz", "npz"));
  check("plain", "npz");
  check("deflated", "npz");
  const Outcome predicted = run_program(folder, "predict npz --data " + formats + "same.npz --output npz.npy");
  CHECK_MESSAGE(predicted.exit_code == 0, predicted.err);
}

TEST_CASE_FIXTURE(DataFormats, "tables in Parquet train to the bits of the same tables in CSV, which zstd compressed") {
  const std::string keys = "labels: kind, missing: mean, encoding: {color: one_hot}}";
  config("csv", "{format: csv, file: " + formats + "same.csv.zst, " + keys, "[10]");
  config("parquet", "{format: parquet, file: " + formats + "same.parquet, " + keys, "[10]");
  if (!fits("csv", "csv")) return;
  check("parquet", "csv");
  if (!fs::exists(folder / "held-parquet")) return;
  for (const char* of_run : {"csv", "held-parquet"}) {
    for (const char* file : {"same.csv.zst", "same.parquet"}) {
      CAPTURE(file);
      const Outcome predicted =
          run_program(folder, fmt::format("predict {} --data {}{} --probabilities", of_run, formats, file));
      CHECK_MESSAGE(predicted.exit_code == 0, predicted.err);
      CHECK(predicted.out == run_program(folder, "predict csv --data " + formats + "same.csv.zst --probabilities").out);
      const Outcome evaluated = run_program(folder, fmt::format("eval {} --data {}{} --json -", of_run, formats, file));
      CHECK_MESSAGE(evaluated.exit_code == 0, evaluated.err);
      CHECK(evaluated.out == run_program(folder, "eval csv --data " + formats + "same.csv.zst --json -").out);
    }
  }
}

TEST_CASE_FIXTURE(DataFormats, "the index that pandas saves with a table in Parquet is no feature without a warning") {
  config("index", "{format: parquet, file: " + formats + "index.parquet, labels: kind}", "[2]");
  if (!fits("index", "index")) return;
  const Outcome checked = run_program(folder, "fit index.yaml --dry-run");
  CHECK_MESSAGE(checked.err.find("column 2 ('__index_level_0__') is the index that pandas saved") != std::string::npos,
                checked.err);
  // Neither a feature of a first configuration nor its label, as the last column.
  const Outcome made = run_program(folder, "init " + formats + "index.parquet -o made.yaml");
  REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  const std::string text = read_text_file(folder / "made.yaml");
  CHECK_MESSAGE(text.find("labels: kind, features: [f]") != std::string::npos, text);
  CHECK_MESSAGE(text.find("# __index_level_0__ is left out: it is the index that pandas saved") != std::string::npos,
                text);
}

TEST_CASE_FIXTURE(DataFormats, "init names the files of a table that is a folder") {
  fs::create_directory(folder / "rides");
  write_file(folder / "rides" / "part-0.parquet", "PAR1");
  const Outcome made = run_program(folder, "init rides");
  CHECK(made.exit_code == 2);
  CHECK_MESSAGE(made.err.find("found tables; name all of them, in quotes: 'rides/*.parquet'") != std::string::npos,
                made.err);
}

TEST_CASE_FIXTURE(DataFormats, "archives of samples train to the bits of the same pictures in a folder") {
  REQUIRE(run_script(folder, "gzip -dc " + formats +
                                 "same.tar.gz > same.tar && mkdir pictures && tar -C pictures -xf same.tar && for i in "
                                 "pictures/*.png; do echo \"$(basename $i),$(cat ${i%png}cls)\"; done > labels.csv")
              .exit_code == 0);
  const std::string steps = "[rescaling: {scale: 0.0039}]";
  config("folder", "{format: image_folder, directory: pictures, labels: labels.csv}", "[4, 4, 3]", steps);
  config("tar", "{format: webdataset, file: same.tar}", "[4, 4, 3]", steps);
  config("tar_gz", "{format: webdataset, file: " + formats + "same.tar.gz, image: png, labels: cls}", "[4, 4, 3]",
         steps);
  REQUIRE(fits("folder", "folder"));
  check("tar", "folder");
  check("tar_gz", "folder");
  const std::string output = " --probabilities";
  const Outcome predicted = run_program(folder, "predict held-tar --data same.tar" + output);
  CHECK_MESSAGE(predicted.exit_code == 0, predicted.err);
  CHECK(run_program(folder, "predict folder --data same.tar" + output).exit_code == 0);
  CHECK(predicted.out == run_program(folder, "predict held-tar --data pictures/*.png" + output).out);
  CHECK(run_program(folder, "eval held-tar --data same.tar --json -").exit_code == 0);
}

TEST_CASE_FIXTURE(DataFormats, "init writes configurations that train for each of the formats") {
  for (const std::string file : {"same.h5", "same.npz", "same.parquet", "same.csv.zst", "same.tar.gz"}) {
    CAPTURE(file);
    const Outcome made = run_program(folder, "init " + formats + file + " -o made.yaml");
    if (made.err.find("this program cannot read") != std::string::npos) continue;
    if (made.err.find("was built without the library") != std::string::npos) continue;
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    const Outcome checked = run_program(folder, "config check made.yaml");
    CHECK_MESSAGE(checked.exit_code == 0, checked.err);
    const Outcome outcome = run_program(folder, "fit made.yaml --run-dir made --set training.epochs=1");
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    fs::remove_all(folder / "made");
    fs::remove(folder / "made.yaml");
  }
}

}  // namespace
}  // namespace mirrortrain::testing::data_formats_test
