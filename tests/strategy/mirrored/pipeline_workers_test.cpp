// Pipelines over several workers: each has some stages of a replica, or all stages of some.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "error_text.h"
#include "every_pair.h"
#include "has_in_order.h"
#include "strategy/mirrored/pipeline_networks.h"
#include "strategy/mirrored/trained_result.h"
#include "strategy/stage_model.h"

namespace mirrortrain {
namespace {

using testing::check_alike;
using testing::check_resumes;
using testing::kDenseStages;
using testing::on_workers;
using testing::Result;
using testing::run_workers;

const std::string kConnected =
    testing::connected_stages("embedding", "    - flatten: {name: flat}\n    - dense: {units: 31, name: logits}");

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
  CHECK(boundaries(kDenseStages, "[b, d]") == "1 up, 1 down; 1 up, 1 down; variables of 0, 1, 2");
  // The words, too, which the last stage adds to what the blocks give.
  CHECK(boundaries(kConnected.c_str(), "[first, sum]") == "1 up, 1 down; 2 up, 1 down; variables of 0, 1, 2");
}

TEST_CASE("stages on several workers have the bits of one process") {
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"optimizer={type: adamw, learning_rate: 0.01, use_ema: true}", "model.recompute=[b, norm]"},
      {"training.on_non_finite=skip"},
  };
  struct Placed {
    int workers, devices;
    std::string options;
  };
  const std::vector<Placed> places = {
      {2, 1, pipeline("[b]", 1)},
      {2, 1, pipeline("[b]", 2)},
      {2, 1, pipeline("[b]", 16)},
      {3, 1, pipeline("[b, d]", 1)},
      {3, 1, pipeline("[b, d]", 5)},
      {2, 1, pipeline("[dropout, c, d]", 4)},  // two stages each
      {2, 2, pipeline("[dropout, c, d]", 4)},  // on two devices
      {4, 1, pipeline("[b]", 3, ", mesh: {data: 2}")},
      {2, 1, pipeline("[b]", 3, ", mesh: {data: 2}")},  // whole replicas
      {2, 2, pipeline("[b]", 2, ", mesh: {data: 2, model: 2}")},
      {2, 1, pipeline("[b]", 3, ", mesh: {data: 1, model: 2}")},  // each stage divided
      {2, 2, pipeline("[b]", 3, ", mesh: {data: 1, model: 2}")},
      {4, 2, pipeline("[c]", 2, ", mesh: {data: 2, model: 2}")},
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t k = 0; k < variants.size(); ++k) {
      if (!testing::is_long() && (i + k) % 3 == 0) continue;  // each variant on two of three places
      CAPTURE(variants[k].empty() ? std::string("sgd") : variants[k].front());
      check_bits(kDenseStages, places[i].workers, places[i].devices, places[i].options, variants[k]);
    }
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
    Training training(kDenseStages, one);
    const Figures expected = figures_of(training);
    std::vector<std::string> two = more;
    two.push_back(testing::replicas_on_cpus(1, pipeline("[last]", microbatches)));
    CHECK(run_workers(2, kDenseStages, two, [&](int, Training& own) {
            const Figures found = figures_of(own);
            CHECK(found.trained == expected.trained);
            CHECK(found.evaluated == expected.evaluated);
          }) == "no error");
  }
}

TEST_CASE("norms over the stages of several workers, and accumulated gradients, agree with one device") {
  const std::vector<std::string> more = {"gradients={accumulate_steps: 3, clip_norm: 0.3}"};
  const Result expected = in_one_process(kDenseStages, "", more);
  for (const int workers : {2, 4}) {
    const std::string options = pipeline("[b]", 3, workers == 4 ? ", mesh: {data: 2}" : "");
    check_alike(expected, on_workers(kDenseStages, workers, 1, options, more), 2e-6, 3e-6);
    check_alike(expected, on_workers(kDenseStages, workers, 1, options + ", optimizer_state: sharded", more), 2e-6,
                3e-6);
    const std::string divided = pipeline("[b]", 3, fmt::format(", mesh: {{data: {}, model: 2}}", workers / 2));
    check_alike(expected, on_workers(kDenseStages, workers, 2, divided, more), 2e-6, 3e-6);
  }
}

TEST_CASE("workers pass on what layers of distant stages read") {
  for (const char* stages : {"[convolution]", "[first, second]", "[first, second, sum]"}) {
    check_bits(kConnected.c_str(),
               std::string(stages) == "[convolution]"     ? 2
               : std::string(stages) == "[first, second]" ? 3
                                                          : 4,
               1, pipeline(stages, 3), {});
  }
}

TEST_CASE("stages on several workers send sequences of several lengths") {
  const std::vector<std::string> more = {
      "data.train={format: inline, features: [[1, 4, 2, 0], [3, 8, 0, 0], [5, 5, 6, 7], [2, 0, 0, 0], [7, 0, 0, 0], "
      "[1, 2, 3, 4], [8, 6, 4, 0]], labels: [0, 1, 2, 2, 0, 1, 1]}",
      "data.global_batch_size=2",
      "data.sequences={bucket_boundaries: [1, 3], group_by_length: true}",
      "model.input_shape=[4]",
      "model.blocks={}",
      "model.layers=[{embedding: {input_dim: 9, output_dim: 6, mask_zero: true}}, {dense: {units: 8, activation: tanh, "
      "name: a}}, {lstm: {units: 5, return_sequences: true, name: b}}, {gru: {units: 4, name: c}}, {dense: {units: "
      "3}}]"};
  for (const int microbatches : {1, 2}) {
    check_bits(kConnected.c_str(), 2, 1, pipeline("[b]", microbatches), more);
    check_bits(kConnected.c_str(), 3, 1, pipeline("[b, c]", microbatches), more);
    check_bits(kConnected.c_str(), 2, 2, pipeline("[b]", microbatches, ", mesh: {data: 1, model: 2}"), more);
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
  check_bits(kDenseStages, 2, 1, options, joined(64));
  std::vector<std::string> more = joined(65);
  more.push_back(testing::replicas_on_cpus(1, options));
  CHECK(has_in_order(run_workers(2, kDenseStages, more, [](int, Training&) {}),
                     {"stage 2", "65 values", "65 gradients", "2 microbatches", "more than the 64 "}));
}

TEST_CASE("workers pass on what places of distant stages read") {
  for (const int devices : {1, 2}) {
    check_bits(kConnected.c_str(), 3, devices, pipeline("[first, second]", 3, ", mesh: {data: 1, model: 2}"), {});
  }
}

TEST_CASE("runs of some workers are resumed by others") {
  check_resumes(kDenseStages,
                {{1, ""},
                 {1, pipeline("[b]", 4)},
                 {2, pipeline("[b]", 4)},
                 {3, pipeline("[b, d]", 2)},
                 {2, pipeline("[c]", 2, ", mesh: {data: 1, model: 2}")},
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
  const std::size_t whole = Training(kDenseStages, one).strategy->memory().variables;
  std::vector<std::string> staged = wide;
  staged.push_back(testing::replicas_on_cpus(1, pipeline("[c]", 4)));
  std::vector<std::size_t> bytes(2);
  CHECK(run_workers(2, kDenseStages, staged, [&](int worker, Training& training) {
          bytes[static_cast<std::size_t>(worker)] = training.strategy->memory().variables;
        }) == "no error");
  CHECK(static_cast<double>(bytes[0] + bytes[1]) == doctest::Approx(static_cast<double>(whole)).epsilon(0.02));
  CHECK(static_cast<double>(bytes[0]) < 0.36 * static_cast<double>(whole));
  CHECK(static_cast<double>(bytes[1]) < 0.68 * static_cast<double>(whole));
}

TEST_CASE("what stages on several workers cannot be is refused") {
  const auto message = [](int workers, const std::string& options, std::vector<std::string> more = {}) {
    more.push_back(testing::replicas_on_cpus(1, options));
    return run_workers(workers, kDenseStages, more, [](int, Training&) {});
  };
  CHECK(contains(message(2, pipeline("[b, d]", 2)), "3 stages of 1 replica cannot be dealt to 2 devices of 2 workers"));
  CHECK(contains(message(4, pipeline("[b]", 2, ", mesh: {data: 1, model: 2}")),
                 "cannot be dealt to 4 devices of 4 workers"));
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
  const std::string error = run_workers(2, kDenseStages, {testing::replicas_on_cpus(1, pipeline("[b]", 4))},
                                        [](int worker, Training& training) {
                                          training.steps(2);
                                          if (worker == 1) throw Error("the disk is full");
                                          training.steps(3);
                                        });
  CHECK(contains(error, "the disk is full"));
}

}  // namespace
}  // namespace mirrortrain
