// Training on devices with memory of their own gives what training on CPUs gives.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "error_text.h"
#include "network.h"
#include "skip.h"
#include "strategy/mirrored/pipeline_networks.h"
#include "strategy/mirrored/trained_result.h"
#include "strategy/steps/step_list.h"
#include "train/checkpoint/checkpoint.h"
#include "train/masked_sequences.h"
#include "train/session/run_strategy.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

/// On replicas of CPUs, and on as many of one GPU.
struct Twins {
  Training on_cpus, on_gpu;

  Twins(const char* text, Overrides overrides, int replicas)
      : on_cpus(text, with(overrides, "cpu", replicas)),
        on_gpu(text, with(overrides, "cuda", replicas), testing::gpus_under_test(1)) {}

  static Overrides with(Overrides overrides, const std::string& kind, int replicas) {
    overrides.push_back(strategy_of(kind, replicas));
    overrides.emplace_back("training.tf32=false");  // whose ten bits are further from the CPU than the tolerance
    return overrides;
  }

  void check_equal(int steps) {
    const auto expected = on_cpus.steps(steps), found = on_gpu.steps(steps);
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == near(expected[i]));
    for (int r = 0; r < on_cpus.strategy->num_replicas_in_sync(); ++r) {
      CHECK(difference(on_cpus.variables(r), on_gpu.variables(r)) < testing::tolerance().variables);
    }
  }
};

TEST_CASE("a network trains on a GPU's replicas as on the CPU's") {
  for (const int replicas : {1, 2, 4, 8}) {
    CAPTURE(replicas);
    Twins(kNetwork, {}, replicas).check_equal(9);
  }
}

TEST_CASE("the stages of a pipeline on a GPU, and places that divide their layers, train as on a CPU") {
  for (const char* mesh : {"{data: 1, model: 1}", "{data: 2, model: 2}"}) {
    CAPTURE(mesh);
    const auto trained = [&](const char* device, const Hardware& hardware) {
      Training training(testing::kDenseStages,
                        {fmt::format("strategy={{type: mirrored, devices: [{}:0], mesh: {}, pipeline: {{split_before: "
                                     "[b, d], microbatches: 3}}}}",
                                     device, mesh),
                         "training.tf32=false"},
                        hardware);
      return testing::trained(training);
    };
    testing::check_alike(trained("cpu", this_hardware()), trained("cuda", testing::gpus_under_test(1)),
                         testing::tolerance().losses, testing::tolerance().variables);
  }
}

TEST_CASE("convolutions with biases and pooling behind them train as on the CPU, kept in another order") {
  for (const int replicas : {1, 3}) {
    CAPTURE(replicas);
    Twins twins(kCnn, {}, replicas);
    twins.check_equal(9);
    CHECK(evaluate_all(*twins.on_gpu.strategy, twins.on_gpu.examples(), 6).loss ==
          near(evaluate_all(*twins.on_cpus.strategy, twins.on_cpus.examples(), 6).loss));
  }
  Twins(kCnn, {"gradients={accumulate_steps: 2, clip_norm: 0.3}", "variables=[{match: \"*/*\", aggregation: none}]"}, 2)
      .check_equal(6);
}

TEST_CASE("convolutions of each channel by itself train as on the CPU, with kernels that are not a library's") {
  const std::string layers =
      "model.layers=[{conv2d: {filters: 8, kernel_size: 3, padding: same, use_bias: false}}, {batch_normalization: "
      "{momentum: 0.8}}, relu, {depthwise_conv2d: {kernel_size: 3, padding: same, use_bias: false}}, "
      "{batch_normalization: {momentum: 0.8}}, relu, {conv2d: {filters: 12, kernel_size: 1}}, {depthwise_conv2d: "
      "{kernel_size: 3, strides: 2, padding: same, activation: relu}}, global_average_pooling2d, {dense: {units: 3}}]";
  for (const int replicas : {1, 3}) {
    CAPTURE(replicas);
    // adam would make much of sums that are not just 0.
    Twins twins(kCnn, {layers, "optimizer={type: sgd, learning_rate: 0.05, momentum: 0.9}"}, replicas);
    twins.check_equal(6);
    CHECK(evaluate_all(*twins.on_gpu.strategy, twins.on_gpu.examples(), 6).loss ==
          near(evaluate_all(*twins.on_cpus.strategy, twins.on_cpus.examples(), 6).loss));
  }
  Twins mixed(kCnn, {layers, "training={precision: mixed_bfloat16}"}, 2);
  const auto expected = mixed.on_cpus.steps(6), found = mixed.on_gpu.steps(6);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(0.03));
}

TEST_CASE("weights of classes count as on the CPU, wherever the examples lie") {
  const std::string loss =
      "loss={type: sparse_categorical_crossentropy, from_logits: true, class_weight: {0: 3.0, 2: 0.25}}";
  for (const char* cache : {"device", "host"}) {
    CAPTURE(cache);
    for (const char* precision : {"float32", "mixed_bfloat16"}) {
      CAPTURE(precision);
      Twins twins(kNetwork,
                  {loss, fmt::format("data.cache={}", cache), fmt::format("training.precision={}", precision)}, 3);
      if (precision == std::string("float32")) {
        twins.check_equal(9);
      } else {
        CHECK(twins.on_gpu.steps(1)[0] == doctest::Approx(twins.on_cpus.steps(1)[0]).epsilon(0.02));
      }
    }
  }
}

TEST_CASE("weights of examples count in evaluation as on the CPU, wherever a split lies") {
  const TemporaryFolder folder;
  std::string rows = "a,b,w,y\n";
  for (int i = 0; i < 30; ++i) rows += fmt::format("{},{},{},{}\n", i % 5, i % 7, 0.3 * (i % 11), i % 3);
  write_file(folder / "a.csv", rows);
  const std::string data =
      fmt::format("data.train={{format: csv, file: {}, labels: y, weights: w}}", (folder / "a.csv").string());
  for (const char* cache : {"device", "host"}) {
    CAPTURE(cache);
    // The validation split begins behind the training split's rows.
    Twins twins(kMlp,
                {data, "model.input_shape=[2]", "data.validation={fraction: 0.4}", fmt::format("data.cache={}", cache)},
                2);
    twins.check_equal(4);
    const auto validated = [](const Training& training, const Hardware& hardware) {
      const Run run = build_run(training.checked, {.trains = false, .evaluates = {data::Split::kValidation}}, hardware);
      set_first_values(training.checked, *run.strategy);
      return evaluate_all(*run.strategy, *run.validation, 10).loss;
    };
    CHECK(validated(twins.on_gpu, testing::gpus_under_test(1)) == near(validated(twins.on_cpus, this_hardware())));
  }
}

/// The network's outputs for four examples of each of three data sets, of which each takes the place of the one before.
std::vector<float> outputs_of_three(const CheckedConfiguration& checked, const Hardware& hardware) {
  const auto strategy = make_strategy(checked, {.trains = false}, hardware);
  std::vector<std::unique_ptr<data::Feeder>> sets;
  std::vector<float> all;
  for (const DType type : {DType::kFloat32, DType::kFloat64, DType::kFloat32}) {
    data::Array features(type, checked.examples.inputs[0].shape.with_rows(4), "features");
    data::Array labels(DType::kInt32, {4}, "labels");
    std::ranges::fill(labels.span<std::int32_t>(), 0);
    data::with_element_type(type, [&](auto* element) {
      using T = std::remove_pointer_t<decltype(element)>;
      double number = 0.1 * static_cast<double>(sets.size() + 1);
      for (T& to : features.span<T>()) {
        number = 3.7 * number * (1 - number);
        to = static_cast<T>(static_cast<float>(number));
      }
    });
    sets.push_back(
        std::make_unique<data::Feeder>(data::Dataset(data::examples_of(std::move(features), std::move(labels))),
                                       checked.values().data.preprocessing, checked.examples));
    if (sets.size() == 1) {
      BatchSizes sizes;
      sizes.evaluate = {4};
      sizes.data_sets = {sets.back().get()};
      sizes.predicts = true;
      strategy->prepare(sizes);
      set_first_values(checked, *strategy);
    } else {
      strategy->replace_data_set(*sets[sets.size() - 2], *sets.back());
      sets[sets.size() - 2].reset();
    }
    const std::vector<std::int64_t> rows{3, 1, 0, 2};
    std::vector<float> outputs(4 * 3);
    StepSpec step;
    step.data_set = sets.back().get();
    step.rows = rows;
    const PredictedOutput written[] = {{outputs, {}}};
    strategy->predict(step, written);
    all.insert(all.end(), outputs.begin(), outputs.end());
  }
  return all;
}

TEST_CASE("a data set of another type takes the place of one that is predicted, wherever they lie") {
  for (const char* cache : {"device", "host"}) {
    CAPTURE(cache);
    const Twins twins(kNetwork, {fmt::format("data.cache={}", cache)}, 2);
    const std::vector<float> expected = outputs_of_three(twins.on_cpus.checked, this_hardware());
    const std::vector<float> found = outputs_of_three(twins.on_gpu.checked, testing::gpus_under_test(1));
    REQUIRE(found.size() == 36);
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(0.001));
    CHECK_FALSE(std::equal(found.begin(), found.begin() + 12, found.begin() + 12));
    CHECK_FALSE(std::equal(found.begin() + 12, found.begin() + 24, found.begin() + 24));
  }
}

TEST_CASE("weights of many chunks of the update train as on the CPU") {
  const Overrides larger{
      "data.train={format: synthetic, examples: 60, shape: [12, 12], classes: 10, seed: 5}",
      "model.input_shape=[12, 12]",
      "model.layers=[flatten, {dense: {units: 70, activation: relu, kernel_regularizer: {l2: 0.001}}}, "
      "{dense: {units: 33, activation: relu}}, {dense: {units: 10}}]",
      "data.global_batch_size=20", "training.tf32=false"};
  for (const char* more :
       {"optimizer={type: adam, learning_rate: 0.003}", "gradients={clip_norm: 0.5}",
        "optimizer={type: lamb, learning_rate: 0.01}", "gradients={accumulate_steps: 2}",
        "optimizer={type: adafactor, learning_rate: 0.1}", "optimizer={type: muon, learning_rate: 0.01}",
        "optimizer={type: sgd, learning_rate: 0.1, clipnorm: 0.2}",
        "optimizer=[{type: muon, match: \"*/kernel\"}, {type: adam}]"}) {
    CAPTURE(more);
    for (const int replicas : {1, 2}) {
      Overrides overrides = larger;
      overrides.emplace_back(more);
      Twins(kDenseNetwork, overrides, replicas).check_equal(6);
    }
  }
}

TEST_CASE("residual blocks train as on the CPU") {
  for (const int replicas : {1, 2}) Twins(kResidual, {}, replicas).check_equal(7);
}

TEST_CASE("recurrent layers train as on the CPU") {
  const std::string layers =
      "model.layers=[{reshape: {target_shape: [14, 14]}}, {lstm: {units: 6, return_sequences: true}}, "
      "{gru: {units: 5, return_sequences: true, go_backwards: true, reset_after: false}}, {gru: {units: 4}}, "
      "{dense: {units: 3}}]";
  for (const int replicas : {1, 3}) {
    Twins twins(kCnn, {layers}, replicas);
    twins.check_equal(7);
    CHECK(evaluate_all(*twins.on_gpu.strategy, twins.on_gpu.examples(), 6).loss ==
          near(evaluate_all(*twins.on_cpus.strategy, twins.on_cpus.examples(), 6).loss));
  }
}

TEST_CASE("sequences with padding train as on the CPU") {
  for (const char* layers :
       {"{lstm: {units: 5, return_sequences: true}}, {gru: {units: 4, return_sequences: true}}",
        "{multi_head_attention: {num_heads: 2, key_dim: 3, use_causal_mask: true, use_bias: false}}, "
        "{batch_normalization: {momentum: 0.5, synchronized: true}}"}) {
    for (const int replicas : {1, 3}) {
      CAPTURE(std::string(layers));
      CAPTURE(replicas);
      Twins twins(kNetwork, masked_sequences(layers), replicas);
      twins.check_equal(7);
      const StepSums on_gpu = evaluate_all(*twins.on_gpu.strategy, twins.on_gpu.examples(), 6);
      const StepSums on_cpus = evaluate_all(*twins.on_cpus.strategy, twins.on_cpus.examples(), 6);
      CHECK(on_gpu.loss == near(on_cpus.loss));
      CHECK(on_gpu.metrics == on_cpus.metrics);
    }
  }
}

TEST_CASE("batches of short sequences train as on the CPU, wherever the examples lie") {
  std::string features, labels;
  for (int row = 0; row < 23; ++row) {
    const int length = 1 + row * row % (row % 5 == 0 ? 7 : 3);
    std::string words, classes;
    for (int step = 0; step < 7; ++step) {
      words += fmt::format("{}, ", step < length ? 1 + (row + step * 3) % 8 : 0);
      classes += fmt::format("{}, ", (row + step) % 3);
    }
    features += fmt::format("[{}], ", words);
    labels += fmt::format("[{}], ", classes);
  }
  for (const char* cache : {"device", "host"}) {
    for (const char* precision : {"float32", "mixed_bfloat16"}) {
      for (const int replicas : {1, 3}) {
        CAPTURE(cache);
        CAPTURE(precision);
        Twins twins(kNetwork,
                    {fmt::format("data.train={{format: inline, features: [{}], labels: [{}]}}", features, labels),
                     fmt::format("data.cache={}", cache), fmt::format("training.precision={}", precision),
                     "data.preprocessing=[]", "data.sequences={bucket_boundaries: [3, 5], group_by_length: true}",
                     "model.input_shape=[7]",
                     "model.layers=[{embedding: {input_dim: 9, output_dim: 4, mask_zero: true}}, {position_embedding: "
                     "{sequence_length: 8}}, {gru: {units: 5, return_sequences: true}}, {dense: {units: 3}}]"},
                    replicas);
        twins.check_equal(20);  // the second time, and more, that each kind of step comes
        const StepSums on_gpu = evaluate_all(*twins.on_gpu.strategy, twins.on_gpu.examples(), 6);
        const StepSums on_cpus = evaluate_all(*twins.on_cpus.strategy, twins.on_cpus.examples(), 6);
        CHECK(on_gpu.loss == doctest::Approx(on_cpus.loss).epsilon(precision == std::string("float32") ? 1e-4 : 2e-2));
      }
    }
  }
}

TEST_CASE("transformers with class tokens and gelu_tanh train as on the CPU") {
  const std::string layers =
      "model.layers=[{conv2d: {filters: 6, kernel_size: 7, strides: 7}}, {reshape: {target_shape: [4, 6]}}, "
      "class_token, "
      "{position_embedding: {sequence_length: 5, name: a}}, {multi_head_attention: {num_heads: 2, key_dim: 3, "
      "use_bias: false}}, "
      "{add: {inputs: [a, multi_head_attention]}}, layer_normalization, {dense: {units: 8, activation: gelu_tanh}}, "
      "{cropping1d: {cropping: [0, 4]}}, flatten, {dense: {units: 3}}]";
  for (const int replicas : {1, 3}) Twins(kCnn, {layers}, replicas).check_equal(5);
}

TEST_CASE("gelu_tanh as a part of matrix multiplications trains as on the CPU, forward and backward") {
  const std::string layers =
      "model.layers=[flatten, {dense: {units: 16, activation: gelu_tanh}}, {dense: {units: 12, activation: gelu_tanh, "
      "use_bias: false}}, {dense: {units: 3}}]";
  Twins twins(
      kCnn,
      {layers, "training={precision: mixed_bfloat16}", "optimizer={type: sgd, learning_rate: 0.1, momentum: 0.9}"}, 2);
  const auto expected = twins.on_cpus.steps(12), found = twins.on_gpu.steps(12);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(0.02));
  CHECK(difference(twins.on_cpus.variables(0), twins.on_gpu.variables(0)) < 0.02);
}

TEST_CASE("a table that an output layer shares trains as on the CPU") {
  const std::string data =
      "data.train={format: inline, features: [[1, 2, 3], [0, 4, 4], [2, 2, 1], [3, 0, 1], [4, 1, 0], [0, 0, 2], [1, 1, "
      "3]], "
      "labels: [[2, 3, 0], [4, 4, 1], [2, 1, 3], [0, 1, 2], [1, 0, 4], [0, 2, 2], [4, 4, 4]]}";
  for (const char* last :
       {"{units: 5, tied_to: tokens}", "{units: 5, use_bias: false, tied_to: tokens, activation: tanh}"}) {
    const std::string layers = fmt::format(
        "model.layers=[{{embedding: {{input_dim: 5, output_dim: 4, name: tokens}}}}, {{dense: {{units: 4, activation: "
        "gelu}}}}, {{dense: {}}}]",
        last);
    for (const int replicas : {1, 2}) {
      Twins(kCnn, {data, "data.preprocessing=[]", "model.input_shape=[3]", layers}, replicas).check_equal(5);
    }
  }
}

TEST_CASE("logits whose rows are padded train as on the CPU, of a layer of its own and of a shared table") {
  const std::string data =
      "data.train={format: inline, features: [[1, 2, 4098], [0, 4, 4], [2, 2, 1], [3, 0, 1], [4, 1, 0], [0, 0, 2], [1, "
      "1, 3]], labels: [[2, 4098, 0], [4, 4, 1], [2, 1, 3], [0, 1, 2], [1, 0, 4], [0, 2, 2], [4, 4, 4]]}";
  for (const char* last : {"tied_to: tokens, use_bias: false", "use_bias: false", "use_bias: true"}) {
    for (const char* precision : {"float32", "mixed_bfloat16"}) {
      CAPTURE(last);
      CAPTURE(precision);
      const std::string layers = fmt::format(
          "model.layers=[{{embedding: {{input_dim: 4099, output_dim: 4, name: tokens}}}}, {{dense: {{units: 4, "
          "activation: gelu}}}}, {{dense: {{units: 4099, {}}}}}]",
          last);
      Twins twins(kCnn,
                  {data, "data.preprocessing=[]", "model.input_shape=[3]", layers,
                   fmt::format("training={{precision: {}}}", precision)},
                  2);
      const auto expected = twins.on_cpus.steps(4), found = twins.on_gpu.steps(4);
      const bool exact = precision == std::string("float32");
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(found[i] == doctest::Approx(expected[i]).epsilon(exact ? 1e-4 : 0.02));
      }
      CHECK(evaluate_all(*twins.on_gpu.strategy, twins.on_gpu.examples(), 6).loss ==
            doctest::Approx(evaluate_all(*twins.on_cpus.strategy, twins.on_cpus.examples(), 6).loss).epsilon(0.02));
    }
  }
}

TEST_CASE("weights are kept within their largest norms as on the CPU, filters that are kept in another order too") {
  for (const char* axis : {"0", "[0, 1, 2]", "[2, 3]", "-1"}) {
    for (const char* more : {"training.precision=float32", "variables=[{match: \"*/*\", aggregation: none}]"}) {
      CAPTURE(axis);
      CAPTURE(more);
      const std::string constraint = fmt::format("{{max_norm: {{max_value: 0.3, axis: {}}}}}", axis);
      Twins(kCnn,
            {"model.layers[0].conv2d.kernel_constraint=" + constraint, more,
             "model.layers[6].dense.kernel_constraint={max_norm: {max_value: 0.4}}"},
            2)
          .check_equal(6);
    }
  }
}

TEST_CASE("replicas that share a GPU wait for the statistics of the global batch as those of CPUs do") {
  for (const int replicas : {1, 3, 4}) Twins(kSynchronized, {}, replicas).check_equal(8);
}

TEST_CASE("frozen convolutions have the right order too") {
  Twins twins(kCnn, {"model.layers[0].conv2d.trainable=false", "variables=[{match: \"dense/*\", aggregation: none}]"},
              2);
  twins.check_equal(4);
  CHECK(evaluate_all(*twins.on_gpu.strategy, twins.on_gpu.examples(), 6).loss ==
        near(evaluate_all(*twins.on_cpus.strategy, twins.on_cpus.examples(), 6).loss));
}

TEST_CASE("mixed precision trains there as on the CPU") {
  Twins twins(kCnn, {"training={precision: mixed_bfloat16}"}, 2);
  const auto expected = twins.on_cpus.steps(9), found = twins.on_gpu.steps(9);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(0.02));
}

TEST_CASE("normalizations that start from sums of their convolutions train as those that read the images again") {
  // A GPU may take either, by what it measures; the simulated one takes the sums.
  const bool counts = testing::launches().has_value();
  for (const int replicas : {1, 2}) {
    for (const char* layers : {"", "layers"}) {
      CAPTURE(replicas);
      Overrides overrides{"training={precision: mixed_bfloat16, tf32: false}", strategy_of("cuda", replicas)};
      if (*layers != 0) {  // with a bias, twice of one kind, and one that is frozen
        overrides.emplace_back(
            "model.layers=[{conv2d: {filters: 8, kernel_size: 3}}, {batch_normalization: {momentum: 0.7}}, {conv2d: "
            "{filters: 8, kernel_size: 3, padding: same}}, {batch_normalization: {momentum: 0.7, scale: false}}, relu, "
            "{conv2d: {filters: 8, kernel_size: 3, padding: same}}, {batch_normalization: {trainable: false}}, "
            "flatten, {dense: {units: 3}}]");
      }
      Training apart(kResidual, overrides, testing::gpus_under_test(1));
      overrides.insert(overrides.end(), {"training.autotune=true", "training.deterministic=false"});
      Training together(kResidual, overrides, testing::gpus_under_test(1));
      const auto before = testing::launches().value_or(testing::Launches{});
      const auto expected = apart.steps(7);
      if (counts) CHECK(testing::launches()->with_sums == before.with_sums);
      const auto found = together.steps(7);
      // Enqueued for the first step, for its capture, and for the smaller batch at the epoch's end.
      const std::int64_t pairs = *layers != 0 ? 2 : 4;
      if (counts) CHECK(testing::launches()->with_sums - before.with_sums == 3 * replicas * pairs);
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(2e-3));
      CHECK(difference(apart.variables(0), together.variables(0)) < 2e-2);
      CHECK(evaluate_all(*together.strategy, together.examples(), 6).loss ==
            doctest::Approx(evaluate_all(*apart.strategy, apart.examples(), 6).loss).epsilon(5e-3));
    }
  }
}

TEST_CASE("a step is no more launches than it was") {
  struct Expected {
    const char *network, *precision;
    std::int64_t own, of_libraries;
  };
  if (testing::skip_without(testing::launches().has_value(), "a simulated GPU, which counts launches")) return;
  // Once forward and backward: custom kernels from picking the rows to the update.
  for (const Expected& expected :
       {Expected{kCnn, "float32", 8, 11}, Expected{kCnn, "mixed_bfloat16", 8, 11},
        Expected{kDenseNetwork, "float32", 5, 8}, Expected{kDenseNetwork, "mixed_bfloat16", 5, 8}}) {
    CAPTURE(expected.precision);
    Training training(expected.network,
                      {fmt::format("training={{precision: {}, cuda_graph: never}}", expected.precision),
                       "data.drop_remainder=true", strategy_of("cuda", 1)},
                      testing::gpus_under_test(1));
    training.steps(2);
    const testing::Launches before = *testing::launches();
    training.steps(1);
    const testing::Launches after = *testing::launches();
    CHECK(after.own - before.own == expected.own);
    CHECK(after.of_libraries - before.of_libraries == expected.of_libraries);
  }
}

TEST_CASE("logits of many classes, in longer rows there, train as on the CPU with any metrics") {
  const std::string data = "data.train={format: synthetic, examples: 20, shape: [4, 4], classes: 4099, seed: 5}";
  const std::string layers = "model.layers=[flatten, {dense: {units: 8, activation: relu}}, {dense: {units: 4099}}]";
  for (const char* metrics : {"[accuracy]", "[]", "[{sparse_top_k_categorical_accuracy: {k: 40}}]",
                              "[accuracy, {sparse_top_k_categorical_accuracy: {k: 40}}]"}) {
    for (const char* precision : {"float32", "mixed_bfloat16"}) {
      CAPTURE(std::string(metrics));
      CAPTURE(std::string(precision));
      Twins twins(kDenseNetwork,
                  {data, layers, fmt::format("metrics={}", metrics), "training.tf32=false",
                   fmt::format("training.precision={}", precision)},
                  2);
      const auto expected = twins.on_cpus.steps(4), found = twins.on_gpu.steps(4);
      const double tolerance = precision == std::string("float32") ? testing::tolerance().losses : 5e-3;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(found[i] == doctest::Approx(expected[i]).epsilon(tolerance));
      }
      const StepSums here = evaluate_all(*twins.on_cpus.strategy, twins.on_cpus.examples(), 6);
      const StepSums there = evaluate_all(*twins.on_gpu.strategy, twins.on_gpu.examples(), 6);
      CHECK(there.loss == doctest::Approx(here.loss).epsilon(tolerance));
      REQUIRE(there.metrics.size() == here.metrics.size());
      if (tolerance < 1e-3) CHECK(there.metrics == here.metrics);
    }
  }
}

TEST_CASE("aggregations, clipping and accumulation mean the same there") {
  for (const char* aggregation : {"mean", "sum", "none", "only_first_replica"}) {
    for (const char* gradients : {"{}", "{clip_norm: 0.5}", "{accumulate_steps: 2, clip_norm: 0.4}",
                                  "{accumulate_steps: 3}", "{clip_value: 0.05}"}) {
      CAPTURE(aggregation);
      CAPTURE(gradients);
      Twins(kMlp,
            {"training.tf32=false", fmt::format("variables=[{{match: \"dense/*\", aggregation: {}}}]", aggregation),
             fmt::format("gradients={}", gradients)},
            3)
          .check_equal(7);
    }
  }
}

TEST_CASE("moving statistics follow their rules there") {
  for (const char* policy :
       {"synchronization: on_read, aggregation: mean", "synchronization: on_write, aggregation: mean",
        "synchronization: on_write, aggregation: sum", "synchronization: on_write, aggregation: only_first_replica",
        "synchronization: none, aggregation: none"}) {
    CAPTURE(policy);
    Twins twins(kNetwork, {fmt::format("variables=[{{match: \"*/moving_*\", {}}}]", policy)}, 2);
    twins.check_equal(5);
    const StepSums expected = evaluate_all(*twins.on_cpus.strategy, twins.on_cpus.examples(), 6);
    const StepSums found = evaluate_all(*twins.on_gpu.strategy, twins.on_gpu.examples(), 6);
    CHECK(found.loss == near(expected.loss));
    CHECK(found.metrics == expected.metrics);
    twins.check_equal(2);  // evaluation left nothing behind
  }
}

TEST_CASE("steps in flight, captured or not, from either memory end as those that are waited for") {
  const auto trained = [](const char* cache, const char* graph, std::uint64_t seed, bool waits) {
    Training training(
        kNetwork,
        {fmt::format("data.cache={}", cache), fmt::format("training={{tf32: false, cuda_graph: {}}}", graph),
         "gradients.accumulate_steps=2", strategy_of("cuda", 2)},
        testing::gpus_under_test(1, seed));
    const auto losses = waits ? training.steps(12) : training.steps_in_flight(12);
    evaluate_all(*training.strategy, training.examples(), 6);
    return std::pair(losses, training.variables());
  };
  const auto reference = trained("device", "never", 1, true);
  for (const std::uint64_t seed : {2u, 3u, 4u}) {
    for (const char* graph : {"auto", "never"}) {
      CHECK(trained("device", graph, seed, false) == reference);
      CHECK(trained("host", graph, seed, false) == reference);
    }
  }
}

TEST_CASE("many steps in one piece are the same steps") {
  const auto trained = [](const char* graph, bool waits) {
    Training training(
        kNetwork,
        {fmt::format("training={{tf32: false, cuda_graph: {}}}", graph), "data.drop_remainder=true",
         "state=[{name: total, synchronization: on_read, aggregation: sum, assign_add: 1}]", strategy_of("cuda", 2)},
        testing::gpus_under_test(1));
    std::vector<double> losses;
    // Whole rings, a ring cut short, and an evaluation between.
    for (const int steps : {70, 37, 3}) {
      const auto part = waits ? training.steps(steps) : training.steps_in_flight(steps);
      losses.insert(losses.end(), part.begin(), part.end());
      losses.push_back(evaluate_all(*training.strategy, training.examples(), 6).loss);
    }
    CHECK(training.strategy->state().readings()[0].value == report::StateReading::Number{std::int64_t{2 * 110}});
    return std::pair(losses, training.variables());
  };
  CHECK(trained("auto", false) == trained("never", true));
}

TEST_CASE("where memory is short, the run says for what and which batch would fit") {
  if (testing::skip_without(testing::memory_can_be_chosen(), "a simulated GPU of any memory")) return;
  const auto error_with = [](std::size_t bytes, const Overrides& more) -> std::string {
    Overrides overrides = more;
    overrides.insert(overrides.end(), {"data.train={format: synthetic, examples: 4000, shape: [6, 6, 2], classes: 3}",
                                       "data.global_batch_size=1000", strategy_of("cuda", 1)});
    try {
      Training(kNetwork, overrides, testing::gpu_with(bytes));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_with(std::size_t{64} << 20, {}) == "");
  CHECK(contains(error_with(1'200'000, {}), "cuda:0: not enough memory: a global batch of 1000 wants"));
  CHECK(contains(error_with(1'200'000, {}), "a global batch of about"));
  CHECK(contains(error_with(2000, {}), "cuda:0: not enough memory: the model wants"));
  CHECK(contains(error_with(500'000, {"data.cache=device"}), "data.cache: "));
}

TEST_CASE("the memory that is reported is what the run takes") {
  if (testing::skip_without(testing::memory_can_be_chosen(), "a simulated GPU of any memory")) return;
  for (const char* more : {"training.precision=float32", "training.precision=mixed_bfloat16", "data.cache=host",
                           "gradients={clip_norm: 1}", "variables=[{match: \"*\", aggregation: none}]"}) {
    CAPTURE(more);
    Training training(kNetwork, {more, strategy_of("cuda", 2)}, testing::gpu_with(std::size_t{64} << 20));
    training.steps(4);
    const MemoryForecast forecast = training.strategy->memory();
    REQUIRE(forecast.gpus.size() == 1);
    const auto& [id, run, memory] = forecast.gpus[0];
    CHECK(run == memory.all - memory.free);
    CHECK(run == forecast.variables + forecast.activations + forecast.examples);
  }
}

TEST_CASE("the memory that is reported is what the run takes of each of several GPUs") {
  if (testing::skip_without(testing::memory_can_be_chosen(), "a simulated GPU of any memory")) return;
  for (const char* ops : {"nccl", "ring"}) {
    CAPTURE(ops);
    Training training(
        kNetwork, {fmt::format("strategy={{type: mirrored, devices: [cuda:0, cuda:1], cross_device_ops: {}}}", ops)},
        testing::gpu_with(std::size_t{64} << 20, 2));
    training.steps(4);
    const MemoryForecast forecast = training.strategy->memory();
    REQUIRE(forecast.gpus.size() == 2);
    for (const auto& [id, run, memory] : forecast.gpus) CHECK(run == memory.all - memory.free);
  }
}

TEST_CASE("a profile has the device's time of every action and op, and changes no bits") {
  Training plain(kNetwork, {strategy_of("cuda", 2)}, testing::gpus_under_test(1));
  Training profiled(kNetwork, {strategy_of("cuda", 2)}, testing::gpus_under_test(1, 2));
  profiled.strategy->profile();
  CHECK(profiled.steps_in_flight(5) == plain.steps_in_flight(5));
  double actions = 0, ops = 0;
  int of_replicas = 0;
  for (const ProfileEntry& entry : profiled.strategy->profile_entries()) {
    CAPTURE(entry.what);
    if (entry.who == "cuda:0") {
      actions += entry.seconds;
      continue;
    }
    CHECK(entry.seconds > 0);
    ops += entry.seconds;
    ++of_replicas;
  }
  CHECK(of_replicas > 20);
  CHECK(ops < actions);  // the programs are among the actions
}

TEST_CASE("a checkpoint moves between GPUs and CPUs") {
  const auto checkpoints_of = [](const Training& training, const std::filesystem::path& folder) {
    return Checkpoints(folder, *training.strategy,
                       {training.checked.model->slot_names(), training.checked.model->metric_sum_names()}, {});
  };
  const Overrides gpu = {strategy_of("cuda", 2), "gradients.accumulate_steps=2"};
  const Overrides cpu = {strategy_of("cpu", 2), "gradients.accumulate_steps=2"};
  const Hardware hardware = testing::gpus_under_test(1);
  Training whole(kNetwork, gpu, hardware), first(kNetwork, gpu, hardware), second(kNetwork, gpu, hardware);
  const auto losses = whole.steps(8);
  first.steps(5);
  checkpoints_of(first, first.folder()).save(first.state, 1);
  second.steps(2);
  second.seek(checkpoints_of(second, first.folder()).restore().value());
  CHECK(second.steps(3) == std::vector(losses.begin() + 5, losses.end()));
  for (const int replica : {0, 1}) CHECK(second.variables(replica) == whole.variables(replica));

  Training on_cpus(kNetwork, cpu);
  on_cpus.seek(checkpoints_of(on_cpus, first.folder()).restore().value());
  const auto found = on_cpus.steps(3);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == near(losses[5 + i]));
}

TEST_CASE("a GPU's step is gathering, layers and update, all in fixed work") {
  if (testing::skip_without(testing::has_gpus(1), "a GPU")) return;
  const Training one(kMlp, {"strategy={type: mirrored, devices: [cuda:0]}"}, testing::gpus_under_test(1));
  CHECK(step_list(*one.strategy) ==
        "cuda:0: send inputs, gather rows, run layers, update, write variables, refresh derived copies, "
        "sum regularization, send sums");
}

TEST_CASE("GPUs reduce each bucket as soon as it is full") {
  if (testing::skip_without(testing::has_gpus(2), "2 GPUs")) return;
  const Training two(kMlp,
                     {"strategy={type: mirrored, devices: [cuda:0, cuda:1], cross_device_ops: nccl, communication: "
                      "{bytes_per_pack: 0}}"},
                     testing::gpus_under_test(2));
  const std::string list =
      "send inputs, gather rows, run layers, reduce bucket, run layers, wait for buckets, update, "
      "write variables, refresh derived copies";
  CHECK(step_list(*two.strategy) ==
        "cuda:0: " + list + ", sum regularization, send sums\ncuda:1: " + list + ", send sums");
}

}  // namespace
}  // namespace mirrortrain
