// Whole trainings against Keras and PyTorch: tests/golden/*, made by tools/reference.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "cli/npz_arrays.h"
#include "cli/run_program.h"
#include "temporary_folder.h"

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// What a machine that has only the programs says instead of the build: tools/gpu-check does.
std::string from_environment(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

const fs::path kGoldens =
    fs::path(from_environment("MIRRORTRAIN_TEST_SOURCES", MIRRORTRAIN_SOURCE_DIR)) / "tests/golden";
/// "cuda:0,cuda:1": the devices to spread replicas over; "": as many of the CPU's as there are replicas.
const std::string kDevices = from_environment("MIRRORTRAIN_TEST_DEVICES", "");
/// Other libraries' sums on a GPU; what is further from the reference is a bug.
constexpr double kGpuWeights = 1e-4;
/// Further options of `fit`.
const std::string kOptions = from_environment("MIRRORTRAIN_TEST_OPTIONS", "");

/// [cpu:0,cpu:1,...]; with devices named, each gets neighbouring replicas: [cuda:0,cuda:0,cuda:1].
std::string device_list(std::size_t replicas) {
  std::vector<std::string> devices;
  std::istringstream named(kDevices);
  for (std::string device; std::getline(named, device, ',');) devices.push_back(device);
  std::vector<std::string> of_replicas;
  for (std::size_t k = 0; k < replicas; ++k) {
    const std::size_t place = replicas < devices.size() ? k : k * devices.size() / replicas;
    of_replicas.push_back(devices.empty() ? fmt::format("cpu:{}", k) : devices[place]);
  }
  return fmt::format("[{}]", fmt::join(of_replicas, ","));
}

/// Runs a command in this process: each new one would make a GPU's context anew, which takes longer than such a
/// training.
void run(std::vector<std::string> words) {
  words.insert(words.begin(), "mirrortrain");
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const int code = mirrortrain::cli::run_program(static_cast<int>(arguments.size()), arguments.data());
  if (code > 128) std::_Exit(code);  // whoever stops one training stops the test
  REQUIRE_MESSAGE(code == 0, fmt::format("{}", fmt::join(words, " ")));
}

/// Trains the golden's configuration into `folder`, without the pages that nobody reads, and returns the lines of
/// metrics.jsonl.
std::vector<json> fit(const fs::path& golden, std::size_t replicas, const fs::path& folder) {
  std::vector<std::string> words = {"fit", golden / "config.yaml", "--run-dir", folder, "-q"};
  for (const std::string& set : {"strategy.devices=" + device_list(replicas), std::string("logging.report=false"),
                                 std::string("logging.tensorboard=false")}) {
    words.insert(words.end(), {"--set", set});
  }
  std::istringstream options(kOptions);
  words.insert(words.end(), std::istream_iterator<std::string>(options), std::istream_iterator<std::string>());
  run(words);
  std::vector<json> events;
  std::ifstream lines(folder / "metrics.jsonl");
  for (std::string line; std::getline(lines, line);) events.push_back(mirrortrain::parse_json<json>(line));
  return events;
}

std::vector<json> of_kind(const std::vector<json>& events, const std::string& kind) {
  std::vector<json> found;
  std::copy_if(events.begin(), events.end(), std::back_inserter(found),
               [&](const json& event) { return event.at("event") == kind; });
  return found;
}

void check_near(double value, double expected, double relative) {
  CHECK_MESSAGE(std::abs(value - expected) <= relative * std::abs(expected),
                fmt::format("{:.9g}, expected {:.9g} within {:g} of it", value, expected, relative));
}

/// {"loss": ..., "metrics": {...}}, as epochs, validation and test have it. Mixed precision may decide a close call
/// differently, so counts like accuracy are compared in full precision alone.
void check_figures(const json& event, const json& expected, double tolerance, bool with_metrics) {
  check_near(event.at("loss"), expected.at("loss"), tolerance);
  if (!with_metrics) return;
  for (const auto& [name, value] : expected.at("metrics").items()) {
    CAPTURE(name);
    const double found = event.at("metrics").at(name), wanted = value;
    // 1 less a ratio, which is what was computed.
    const bool is_rest = name.ends_with("r2_score");
    check_near(is_rest ? 1 - found : found, is_rest ? 1 - wanted : wanted, tolerance);
  }
}

void check_steps(const std::vector<json>& steps, const json& expected, double tolerance, bool with_metrics) {
  const json& losses = expected.at("losses");
  REQUIRE(steps.size() == losses.size());
  for (std::size_t k = 0; k < losses.size(); ++k) {
    CAPTURE(k);
    CHECK(steps[k].at("step") == k + 1);
    json figures = {{"loss", losses[k]}, {"metrics", json::object()}};
    for (const auto& [name, values] : expected.at("metrics").items()) figures["metrics"][name] = values[k];
    check_figures(steps[k], figures, tolerance, with_metrics);
  }
}

void check_epochs(const std::vector<json>& epochs, const json& expected, double tolerance, bool with_metrics) {
  REQUIRE(epochs.size() == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    CAPTURE(k);
    check_figures(epochs[k], expected[k], tolerance, with_metrics);
    CHECK(epochs[k].contains("validation") == expected[k].contains("validation"));
    if (expected[k].contains("validation"))
      check_figures(epochs[k].at("validation"), expected[k].at("validation"), tolerance, with_metrics);
  }
}

void check_weights(const fs::path& file, const fs::path& expected_file, double tolerance) {
  const auto weights = mirrortrain::read_safetensors(file);
  const auto expected = mirrortrain::read_safetensors(expected_file);
  CHECK(weights.size() == expected.size());
  for (const auto& [name, reference] : expected) {
    CAPTURE(name);
    REQUIRE(weights.count(name) == 1);
    const auto& tensor = weights.at(name);
    CHECK(tensor.dtype == mirrortrain::DType::kFloat32);
    REQUIRE(tensor.shape == reference.shape);
    const auto values = tensor.span<float>(), wanted = reference.span<float>();
    double worst = 0;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const double distance = std::abs(double(values[k]) - wanted[k]);
      worst = std::isnan(distance) ? distance : std::max(worst, distance);
      if (std::isnan(worst)) break;
    }
    CHECK(worst <= tolerance);
  }
}

/// A tensor's distance to the reference, as a share of how far that moved: what did not train would be within most
/// tolerances of mixed precision.
void check_movement(const fs::path& file, const fs::path& golden, double share) {
  const auto weights = mirrortrain::read_safetensors(file);
  const auto initial = mirrortrain::read_safetensors(golden / "initial.safetensors");
  const auto distance = [](std::span<const float> a, std::span<const float> b) {
    double squares = 0;
    for (std::size_t k = 0; k < a.size(); ++k) squares += (double(a[k]) - b[k]) * (double(a[k]) - b[k]);
    return std::sqrt(squares);
  };
  for (const auto& [name, reference] : mirrortrain::read_safetensors(golden / "final.safetensors")) {
    CAPTURE(name);
    const double moved = distance(reference.span<float>(), initial.at(name).span<float>());
    CHECK(moved > 0);
    CHECK(distance(weights.at(name).span<float>(), reference.span<float>()) <= share * moved);
  }
}

/// Where copies differ, the last checkpoint holds replica 1's.
void check_replica_1(const fs::path& run, const fs::path& golden, double tolerance) {
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints")) newest = std::max(newest, entry.path());
  const auto saved = mirrortrain::read_safetensors(newest / "training.safetensors");
  for (const auto& [name, reference] : mirrortrain::read_safetensors(golden / "final-replica-1.safetensors")) {
    CAPTURE(name);
    REQUIRE(saved.count("replica_1/" + name) == 1);
    const auto values = saved.at("replica_1/" + name).span<float>(), wanted = reference.span<float>();
    REQUIRE(values.size() == wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) CHECK(std::abs(double(values[k]) - wanted[k]) <= tolerance);
  }
}

/// Mixed precision that was quietly left out would follow the float32 run.
void check_not_float32(const std::vector<json>& steps, const json& float32_losses) {
  double worst = 0;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const double loss = steps[k].at("loss"), float32 = float32_losses.at(k);
    worst = std::max(worst, std::abs(loss - float32) / float32);
  }
  CHECK(worst > 1e-4);
}

/// The outputs of the trained model for the test data, by name.
void check_predictions(const fs::path& folder, const fs::path& expected_file) {
  const fs::path file = folder / "predictions.npz";
  run({"predict", folder, "--split", "test", "-q", "-o", file});
  const auto found = mirrortrain::testing::arrays_of(file);
  const auto expected = mirrortrain::read_safetensors(expected_file);
  CHECK(found.size() == expected.size());
  for (const auto& [name, reference] : expected) {
    CAPTURE(name);
    REQUIRE(found.count(name) == 1);
    const auto& values = found.at(name).elements;
    const auto wanted = reference.span<float>();
    REQUIRE(values.size() == wanted.size());
    double worst = 0, largest = 0;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      worst = std::max(worst, std::abs(double(values[k]) - wanted[k]));
      largest = std::max(largest, std::abs(double(wanted[k])));
    }
    CHECK(worst <= 1e-5 * largest);
  }
}

void check_run(const fs::path& golden, const json& expected, std::size_t replicas, const fs::path& folder) {
  const auto events = fit(golden, replicas, folder);
  const double loss_tolerance = expected.at("tolerance").at("loss");
  const bool mixed = expected.at("differs_from_float32");
  const auto steps = of_kind(events, "step");
  check_steps(steps, expected, loss_tolerance, !mixed);
  if (mixed) check_not_float32(steps, expected.at("losses_float32"));
  check_epochs(of_kind(events, "epoch"), expected.at("epochs"), loss_tolerance, !mixed);
  const auto evaluations = of_kind(events, "evaluation");
  REQUIRE(evaluations.size() == (expected.contains("test") ? 1 : 0));
  if (!evaluations.empty()) check_figures(evaluations[0], expected.at("test"), loss_tolerance, !mixed);
  double weights = expected.at("tolerance").at("weights");
  if (kDevices.starts_with("cuda")) weights = std::max(weights, kGpuWeights);
  check_weights(folder / "model.safetensors", golden / "final.safetensors", weights);
  if (mixed) check_movement(folder / "model.safetensors", golden, expected.at("tolerance").at("movement"));
  if (fs::exists(golden / "final-replica-1.safetensors")) check_replica_1(folder, golden, weights);
  if (fs::exists(golden / "predictions.safetensors")) check_predictions(folder, golden / "predictions.safetensors");
}

/// Trains the golden on every number of replicas that it names and compares with what the reference computed.
void follows_reference(const std::string& name) {
  const mirrortrain::TemporaryFolder temporary;
  const fs::path golden = kGoldens / name;
  const auto expected = mirrortrain::parse_json<json>(mirrortrain::read_text_file(golden / "expected.json"));
  REQUIRE_FALSE(expected.at("replicas").empty());
  for (const std::size_t replicas : expected.at("replicas")) {
    CAPTURE(replicas);
    check_run(golden, expected, replicas, temporary.path() / fmt::format("replicas-{}", replicas));
  }
}

/// The outputs' largest error is no more than the root of all squared ones together.
void gives_outputs_of_keras() {
  const mirrortrain::TemporaryFolder temporary;
  const fs::path golden = kGoldens / "keras-transfer", found = temporary.path() / "found.json";
  run({"eval", golden / "config.yaml", "-q", "--json", found, "--set", "name=keras-transfer", "--set",
       "strategy.devices=" + device_list(2)});
  const double loss = mirrortrain::parse_json<json>(mirrortrain::read_text_file(found)).at("loss");
  constexpr double kOutputs = 6 * 4, kSize = 1;
  CHECK(std::sqrt(loss * kOutputs) < 1e-4 * kSize);
}

/// Every golden of a folder.
void all_follow_reference(const std::string& kind) {
  int found = 0;
  for (const auto& entry : fs::directory_iterator(kGoldens / kind)) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path());
    follows_reference(kind + "/" + entry.path().filename().string());
    ++found;
  }
  REQUIRE(found > 0);
}

TEST_CASE("a line through four points is fitted as by TensorFlow") { follows_reference("linear-regression"); }
TEST_CASE("a line with an intercept is fitted as by TensorFlow") { follows_reference("linear-regression-bias"); }
TEST_CASE("a binary classifier trains as in TensorFlow") { follows_reference("binary-classifier"); }
TEST_CASE("sgd with momentum trains as in Keras") { follows_reference("mlp-sgd-momentum"); }
TEST_CASE("sgd with Nesterov momentum trains as in Keras") { follows_reference("mlp-sgd-nesterov"); }
TEST_CASE("every activation under a softmax trains as in Keras") { follows_reference("categorical-activations"); }
TEST_CASE("windows with strides, padding and dilation train as in Keras") { follows_reference("cnn-adam"); }
TEST_CASE("batch statistics, branches, decay and a schedule train as in Keras") { follows_reference("batch-norm-cnn"); }
TEST_CASE("with synchronized statistics any number of replicas trains as one does in Keras") {
  follows_reference("synchronized-batch-norm");
}
TEST_CASE("a Keras model's weights by the recipe of docs/runs.md give its outputs") { gives_outputs_of_keras(); }
TEST_CASE("attention of a sequence to itself and to another trains as in Keras") { follows_reference("attention"); }
TEST_CASE("recurrent layers of both kinds train as in Keras") {
  follows_reference("lstm");
  follows_reference("gru");
  follows_reference("recurrent-mixed-bfloat16");
}
TEST_CASE("weights are kept within their largest norms as in Keras") { follows_reference("max-norm"); }
TEST_CASE("mixed precision trains close to Keras's") { follows_reference("cnn-mixed-bfloat16"); }
TEST_CASE("grouped convolutions train as in PyTorch") { follows_reference("torch-cnn-sgd"); }
TEST_CASE("two replicas train as under MirroredStrategy") { follows_reference("mirrored-binary-classifier"); }
TEST_CASE("replicas normalize with their own examples as under MirroredStrategy") {
  follows_reference("mirrored-batch-norm-cnn");
}
TEST_CASE("batches that do not divide train as under MirroredStrategy") { follows_reference("mirrored-uneven"); }
TEST_CASE("the optimizer applies what the replicas' gradients aggregate to") {
  follows_reference("aggregation-mean");
  follows_reference("aggregation-sum");
  follows_reference("aggregation-only-first-replica");
  follows_reference("aggregation-none");
}
TEST_CASE("layers of every kind train as in Keras, with their regularizers and constraints") {
  all_follow_reference("layers");
}
TEST_CASE("every loss trains as in Keras") { all_follow_reference("losses"); }
TEST_CASE("every constraint bounds weights as in Keras") { all_follow_reference("constraints"); }

TEST_CASE("regularizers of angles are Keras's") { all_follow_reference("regularizers"); }
TEST_CASE("weights of classes and of examples train as in Keras") { all_follow_reference("weights"); }
TEST_CASE("sequences with padding train as in Keras") { all_follow_reference("masks"); }
TEST_CASE("models with several inputs, outputs and losses train, evaluate and predict as in Keras") {
  all_follow_reference("functional");
}
TEST_CASE("every optimizer trains as in Keras") { all_follow_reference("optimizers"); }
TEST_CASE("every learning rate schedule trains as in Keras") { all_follow_reference("schedules"); }
TEST_CASE("gradients are clipped as in Keras") {
  follows_reference("clip-norm");
  follows_reference("clip-value");
}
TEST_CASE("every k-th step updates with the mean of k gradients") {
  follows_reference("accumulate-steps");
  follows_reference("accumulate-clip-norm");
}

}  // namespace
