// Pipelines over several workers: each has some stages of a replica, or all stages of some.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "error_text.h"
#include "strategy/mirrored/trained_result.h"
#include "strategy/stage_model.h"

namespace mirrortrain {
namespace {

using testing::check_alike;
using testing::check_resumes;
using testing::on_workers;
using testing::Result;
using testing::run_workers;

constexpr const char* kDense = R"(
seed: 3
data:
  global_batch_size: 13
  shuffle: true
  train: {format: synthetic, examples: 40, shape: [9], classes: 3, seed: 5}
model:
  input_shape: [9]
  layers:
    - dense: {units: 20, activation: tanh, kernel_regularizer: {l2: 0.01}, name: a}
    - dropout: {rate: 0.3}
    - dense: {units: 17, activation: relu, name: b}
    - layer_normalization: {name: norm}
    - dense: {units: 11, activation: tanh, kernel_regularizer: {l1: 0.001}, kernel_constraint: {max_norm: {max_value: 0.9}}, name: c}
    - dense: {units: 3, name: d}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}
)";

/// Layers that read what earlier stages computed, which the workers between pass on.
constexpr const char* kConnected = R"(
seed: 4
data:
  global_batch_size: 11
  train: {format: synthetic, examples: 36, inputs: {input: {shape: [12], below: 31}}, classes: 31, seed: 5}
model:
  input_shape: [12]
  blocks:
    encoder:
      layers:
        - layer_normalization: {name: norm}
        - multi_head_attention: {num_heads: 2, key_dim: 4, use_bias: false, name: attention}
        - dropout: {rate: 0.2}
  layers:
    - embedding: {input_dim: 31, output_dim: 16, name: words}
    - encoder: {name: first}
    - conv1d: {filters: 16, kernel_size: 3, padding: same, activation: relu, name: convolution}
    - encoder: {name: second}
    - add: {inputs: [words, second], name: sum}
    - flatten: {name: flat}
    - dense: {units: 31, name: logits}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.1}
)";

std::string pipeline(const std::string& stages, int microbatches, const std::string& mesh = "") {
  return fmt::format("{}, pipeline: {{split_before: {}, microbatches: {}}}", mesh, stages, microbatches);
}

Result in_one_process(const char* network, const std::string& options, std::vector<std::string> more) {
  more.push_back(testing::replicas_on_cpus(1, options, "mirrored"));
  Training training(network, more);
  return testing::trained(training);
}

/// Checks that workers give the bits of one process.
void check_bits(const char* network, int workers, int devices, const std::string& options,
                const std::vector<std::string>& more) {
  CAPTURE(workers);
  CAPTURE(options);
  const Result expected = in_one_process(network, options, more);
  const Result found = on_workers(network, workers, devices, options, more);
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {  // each worker adds up its part of the regularization
    CHECK(found.losses[i] == doctest::Approx(expected.losses[i]).epsilon(1e-12));
  }
  CHECK(found.variables == expected.variables);
  CHECK(found.evaluated == doctest::Approx(expected.evaluated).epsilon(1e-12));
}

TEST_CASE("each worker sends the next what its layers read, and gets the gradient back") {
  const auto boundaries = [](const char* network, const std::string& begins) {
    const Training training(network, {testing::replicas_on_cpus(1, pipeline(begins, 2), "mirrored")});
    const PipelineOptions& options = *training.checked.values().strategy.pipeline;
    const Model& model = *training.checked.model;
    const StagesOfWorkers workers{stages_of_layers(options, model), options.stages(), options.stages()};
    std::string text;
    for (const auto& [up, down] : stage_boundaries(model.training, workers, true)) {
      text += fmt::format("{}{} up, {} down", text.empty() ? "" : "; ", up.size(), down.size());
    }
    std::vector<int> of_variables = workers_of_variables(model, workers);
    of_variables.erase(std::unique(of_variables.begin(), of_variables.end()), of_variables.end());
    return fmt::format("{}; variables of {}", text, fmt::join(of_variables, ", "));
  };
  CHECK(boundaries(kDense, "[b, d]") == "1 up, 1 down; 1 up, 1 down; variables of 0, 1, 2");
  // The words, too, which the last stage adds to what the blocks give.
  CHECK(boundaries(kConnected, "[first, sum]") == "1 up, 1 down; 2 up, 1 down; variables of 0, 1, 2");
}

TEST_CASE("stages on several workers have the bits of one process") {
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"optimizer={type: adamw, learning_rate: 0.01, use_ema: true}", "model.recompute=[b, norm]"},
      {"training.on_non_finite=skip"},
  };
  for (const std::vector<std::string>& more : variants) {
    CAPTURE(more.empty() ? std::string("sgd") : more.front());
    for (const int microbatches : {1, 2, 5, 16}) {
      check_bits(kDense, 2, 1, pipeline("[b]", microbatches), more);
      check_bits(kDense, 3, 1, pipeline("[b, d]", microbatches), more);
    }
    check_bits(kDense, 2, 1, pipeline("[dropout, c, d]", 4), more);  // two stages each
    check_bits(kDense, 2, 2, pipeline("[dropout, c, d]", 4), more);  // on two devices
    check_bits(kDense, 4, 1, pipeline("[b]", 3, ", mesh: {data: 2}"), more);
    check_bits(kDense, 2, 1, pipeline("[b]", 3, ", mesh: {data: 2}"), more);  // whole replicas
    check_bits(kDense, 2, 2, pipeline("[b]", 2, ", mesh: {data: 2, model: 2}"), more);
  }
}

TEST_CASE("a last stage that has nothing to compute in evaluation leaves the losses to the stage before it") {
  // Dropout alone: training's loss is the second worker's, evaluation's the first one's.
  const std::vector<std::string> more = {
      "model.layers=[{dense: {units: 20, activation: tanh, name: a}}, {dense: {units: 3, name: b}}, "
      "{dropout: {rate: 0.3, name: last}}]"};
  struct Figures {
    std::vector<double> trained, evaluated;
  };
  // Training and evaluation alternate, so that each follows the other's sums.
  const auto figures_of = [](Training& training) {
    Figures figures;
    for (int i = 0; i < 3; ++i) {
      for (const double loss : training.steps(2)) figures.trained.push_back(loss);
      const StepSums found = evaluate_all(*training.strategy, training.examples(), 13);
      figures.evaluated.push_back(found.loss);
      figures.evaluated.insert(figures.evaluated.end(), found.metrics.begin(), found.metrics.end());
    }
    return figures;
  };
  for (const int microbatches : {1, 3}) {
    CAPTURE(microbatches);
    std::vector<std::string> one = more;
    one.push_back(testing::replicas_on_cpus(1, pipeline("[last]", microbatches), "mirrored"));
    Training training(kDense, one);
    const Figures expected = figures_of(training);
    std::vector<std::string> two = more;
    two.push_back(testing::replicas_on_cpus(1, pipeline("[last]", microbatches)));
    CHECK(run_workers(2, kDense, two, [&](int, Training& own) {
            const Figures found = figures_of(own);
            CHECK(found.trained == expected.trained);
            CHECK(found.evaluated == expected.evaluated);
          }) == "no error");
  }
}

TEST_CASE("norms over the stages of several workers, and accumulated gradients, agree with one device") {
  const std::vector<std::string> more = {"gradients={accumulate_steps: 3, clip_norm: 0.3}"};
  const Result expected = in_one_process(kDense, "", more);
  for (const int workers : {2, 4}) {
    const std::string options = pipeline("[b]", 3, workers == 4 ? ", mesh: {data: 2}" : "");
    check_alike(expected, on_workers(kDense, workers, 1, options, more), 2e-6, 3e-6);
    check_alike(expected, on_workers(kDense, workers, 1, options + ", optimizer_state: sharded", more), 2e-6, 3e-6);
  }
}

TEST_CASE("workers pass on what layers of distant stages read") {
  for (const char* stages : {"[convolution]", "[first, second]", "[first, second, sum]"}) {
    check_bits(kConnected,
               std::string(stages) == "[convolution]"     ? 2
               : std::string(stages) == "[first, second]" ? 3
                                                          : 4,
               1, pipeline(stages, 3), {});
  }
}

TEST_CASE("as many values cross a boundary as can be under way both ways, and more are refused") {
  const auto joined = [](int values) {
    std::string layers, names;
    for (int i = 0; i < values; ++i) {
      layers += fmt::format("{{dense: {{units: 2, inputs: [input], name: l{}}}}}, ", i);
      names += fmt::format("{}l{}", i == 0 ? "" : ", ", i);
    }
    return std::vector<std::string>{fmt::format(
        "model.layers=[{}{{concatenate: {{inputs: [{}], name: all}}}}, {{dense: {{units: 3}}}}]", layers, names)};
  };
  const std::string options = pipeline("[all]", 4);  // of 2 stages, 2 microbatches are under way
  check_bits(kDense, 2, 1, options, joined(64));
  std::vector<std::string> more = joined(65);
  more.push_back(testing::replicas_on_cpus(1, options));
  CHECK(contains(run_workers(2, kDense, more, [](int, Training&) {}),
                 "the layers from stage 2 on, which other workers have, read 65 values of earlier layers and send 65 "
                 "gradients back, of each of 2 microbatches at once, more than the 64 that can be under way"));
}

TEST_CASE("runs of some workers are resumed by others") {
  check_resumes(kDense,
                {{1, ""},
                 {1, pipeline("[b]", 4)},
                 {2, pipeline("[b]", 4)},
                 {3, pipeline("[b, d]", 2)},
                 {4, pipeline("[c]", 2, ", mesh: {data: 2}") + ", optimizer_state: sharded"}},
                "optimizer={type: adam, learning_rate: 0.001}", 1e-4);
}

TEST_CASE("each worker keeps the variables and slots of its stages alone") {
  const std::vector<std::string> wide = {
      "model.layers=[{dense: {units: 300, name: a}}, {dense: {units: 300, name: b}}, {dense: {units: 300, name: c}}, "
      "{dense: {units: 300, name: d}}, {dense: {units: 3, name: e}}]",
      "optimizer={type: adam, learning_rate: 0.001}"};
  std::vector<std::string> one = wide;
  one.push_back(testing::replicas_on_cpus(1, pipeline("[c]", 4), "mirrored"));
  const std::size_t whole = Training(kDense, one).strategy->memory().variables;
  std::vector<std::string> staged = wide;
  staged.push_back(testing::replicas_on_cpus(1, pipeline("[c]", 4)));
  std::vector<std::size_t> bytes(2);
  CHECK(run_workers(2, kDense, staged, [&](int worker, Training& training) {
          bytes[static_cast<std::size_t>(worker)] = training.strategy->memory().variables;
          CHECK(training.strategy->is_divided_among_workers());
        }) == "no error");
  CHECK(static_cast<double>(bytes[0] + bytes[1]) == doctest::Approx(static_cast<double>(whole)).epsilon(0.02));
  CHECK(static_cast<double>(bytes[0]) < 0.36 * static_cast<double>(whole));
  CHECK(static_cast<double>(bytes[1]) < 0.68 * static_cast<double>(whole));
}

TEST_CASE("what stages on several workers cannot be is refused") {
  const auto message = [](int workers, const std::string& options, std::vector<std::string> more = {}) {
    more.push_back(testing::replicas_on_cpus(1, options));
    return run_workers(workers, kDense, more, [](int, Training&) {});
  };
  CHECK(contains(message(2, pipeline("[b, d]", 2)), "3 stages of 1 replica cannot be dealt to 2 devices of 2 workers"));
  CHECK(contains(message(4, pipeline("[b]", 2, ", mesh: {data: 1, model: 2}")),
                 "cannot be dealt to 4 devices of 4 workers"));
  CHECK(contains(message(2, pipeline("[b]", 2, ", mesh: {data: 1, model: 2}")),
                 "stages that several workers have are not divided among places yet"));
  CHECK(
      contains(message(2, pipeline("[b]", 2),
                       {"model.layers=[{dense: {units: 9, name: a}}, {dense: {units: 9, name: b}}, {reuse: {layer: a, "
                        "name: again}}, {dense: {units: 3}}]"}),
               "'a/kernel' is read by layers of stages that are on several workers (0 and 1 of a replica's)"));
  CHECK(contains(message(2, pipeline("[b]", 2), {"optimizer={type: lamb, learning_rate: 0.01}"}),
                 "stages on several workers do not go with it yet"));
  CHECK(contains(message(2, pipeline("[b]", 2) + ", optimizer_state: sharded_weights"),
                 "use optimizer_state: sharded in place of sharded_weights"));
  CHECK(contains(message(2, pipeline("[b]", 2) + ", communication: {compression: bfloat16}"),
                 "compression of gradients between workers does not know stages yet"));
}

TEST_CASE("a worker whose neighbour fails ends with its reason") {
  const std::string error =
      run_workers(2, kDense, {testing::replicas_on_cpus(1, pipeline("[b]", 4))}, [](int worker, Training& training) {
        training.steps(2);
        if (worker == 1) throw Error("the disk is full");
        training.steps(3);
      });
  CHECK(contains(error, "the disk is full"));
}

}  // namespace
}  // namespace mirrortrain
