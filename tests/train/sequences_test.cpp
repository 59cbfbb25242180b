// Batches that are computed at the number of steps that their longest sequence needs.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "error_text.h"
#include "train/checkpoint/checkpoint.h"
#include "train/training.h"
#include "train/verify_replicas.h"

namespace mirrortrain {
namespace {

using Overrides = std::vector<std::string>;

constexpr const char* kAtTheEnd = "{lstm: {units: 5}}, {dense: {units: 3}}";

/// 29 sequences of 1 to 9 words, padded with 0 to 9 steps, and one of none, of which each or each word has a class.
Overrides sequences(const std::string& layers, const std::string& of_data, const std::string& strategy = "[cpu:0]") {
  const bool needs_words = layers.find("average") != std::string::npos;  // the mean of none is not a number
  const bool of_words = layers.find("{units: 3, name: words}") != std::string::npos;
  std::vector<std::string> features, labels;
  for (int row = 0; row < 29; ++row) {
    std::vector<int> words, classes;
    const int length = row == 11 && !needs_words ? 0 : 1 + row * row % (row % 5 == 0 ? 9 : 4);
    for (int step = 0; step < 9; ++step) {
      const bool is_between = step > 0 && (row + step) % 6 == 1;
      words.push_back(step < length && !is_between ? 1 + (row * 5 + step * 3) % 8 : 0);
      classes.push_back((words.back() + step) % 3);
    }
    features.push_back(fmt::format("[{}]", fmt::join(words, ", ")));
    labels.push_back(of_words ? fmt::format("[{}]", fmt::join(classes, ", ")) : std::to_string(row % 3));
  }
  return {fmt::format("data.train={{format: inline, features: [{}], labels: [{}]}}", fmt::join(features, ", "),
                      fmt::join(labels, ", ")),
          "data.preprocessing=[]",
          "data.global_batch_size=4",
          "data.shuffle=true",
          "model.input_shape=[9]",
          fmt::format("model.layers=[{{embedding: {{input_dim: 9, output_dim: 4, mask_zero: true, name: table, "
                      "embeddings_initializer: {{random_normal: {{stddev: 1}}}}}}}}, {}]",
                      layers),
          of_data,
          fmt::format("strategy={{type: mirrored, devices: {}, threads_per_replica: 1}}", strategy)};
}

const std::string kBuckets = "data.sequences={bucket_boundaries: [2, 5]}";
const std::string kGrouped = "data.sequences={bucket_boundaries: [2, 5], group_by_length: true}";
const std::string kWhole = "data.sequences=null";

/// Of the next steps of training.
std::multiset<std::int64_t> lengths(const Training& training, int steps) {
  std::multiset<std::int64_t> found;
  data::Order order = training.order();
  for (int i = 0; i < steps; ++i) found.insert(training.examples().buckets().length_of(order.next().rows));
  return found;
}

TEST_CASE("batches of short sequences give what they give at all steps") {
  for (const char* layers :
       {kAtTheEnd, "{gru: {units: 4, go_backwards: true}}, {dense: {units: 3}}",
        "{position_embedding: {sequence_length: 9}}, {multi_head_attention: {num_heads: 2, key_dim: 3}}, "
        "{add: {inputs: [multi_head_attention, position_embedding]}}, layer_normalization, "
        "global_average_pooling1d, {dense: {units: 3}}",
        "{dropout: {rate: 0.4}}, {batch_normalization: {momentum: 0.5}}, {gru: {units: 4, return_sequences: true}}, "
        "{dense: {units: 3, name: words}}"}) {
    for (const char* devices : {"[cpu:0]", "[cpu:0, cpu:1]", "[cpu:0, cpu:1, cpu:2]"}) {
      for (const char* gradients : {"gradients={}", "gradients={accumulate_steps: 3}"}) {
        CAPTURE(std::string(layers));
        CAPTURE(std::string(devices));
        Overrides whole = sequences(layers, kWhole, devices), shorter = sequences(layers, kBuckets, devices);
        for (Overrides* overrides : {&whole, &shorter}) {
          overrides->emplace_back(gradients);
          overrides->emplace_back("metrics=[accuracy]");
        }
        Training expected(kMlp, whole), found(kMlp, shorter);
        CHECK(lengths(found, 12).count(5) > 0);
        const auto losses = expected.steps(12), shorter_losses = found.steps(12);
        for (std::size_t i = 0; i < 12; ++i) CHECK(shorter_losses[i] == doctest::Approx(losses[i]).epsilon(1e-6));
        CHECK(difference(expected.variables(), found.variables()) < 5e-6);
        const StepSums all = evaluate_all(*expected.strategy, expected.examples(), 4),
                       cut = evaluate_all(*found.strategy, found.examples(), 4);
        CHECK(cut.loss == doctest::Approx(all.loss).epsilon(1e-5));
        CHECK(cut.metrics == all.metrics);
      }
    }
  }
}

TEST_CASE("grouped sequences train at every length, alike on any number of replicas") {
  Training training(kMlp, sequences(kAtTheEnd, kGrouped));
  const auto found = lengths(training, 8);
  for (const std::int64_t length : {0, 2, 5}) CHECK(found.count(length) > 0);
  CHECK(verify_replicas(training.checked, {2, 3, 5}, 16).largest() < 2e-5);
}

TEST_CASE("a run that is resumed within an epoch of grouped sequences goes on exactly") {
  const Overrides overrides = sequences(kAtTheEnd, kGrouped, "[cpu:0, cpu:1]");
  Training whole(kMlp, overrides), first(kMlp, overrides), second(kMlp, overrides);
  const auto checkpoints_of = [](const Training& training, const std::filesystem::path& folder) {
    const CheckpointNames names{training.checked.model->slot_names(), training.checked.model->metric_sum_names()};
    return Checkpoints(folder, *training.strategy, names, {});
  };
  const auto losses = whole.steps(20);
  first.steps(11);
  checkpoints_of(first, first.folder()).save(first.state, 1);
  second.seek(checkpoints_of(second, first.folder()).restore().value());
  CHECK(second.steps(9) == std::vector(losses.begin() + 11, losses.end()));
  CHECK(second.variables() == whole.variables());
}

TEST_CASE("what does not give the same at fewer steps is refused, with what to do") {
  const auto refused = [](const std::string& layers, const std::string& of_data, const std::string& expected,
                          const Overrides& more = {}) {
    Overrides overrides = sequences(layers, of_data);
    overrides.insert(overrides.end(), more.begin(), more.end());
    const std::string error = error_text([&] { Training(kMlp, overrides); });
    CHECK_MESSAGE(contains(error, expected), error);
  };
  const auto boundaries = [](const char* list) {
    return fmt::format("data.sequences={{bucket_boundaries: {}}}", list);
  };
  refused(kAtTheEnd, boundaries("[2, 9]"), "expected numbers of time steps below 9, those of model.input_shape");
  refused(kAtTheEnd, boundaries("[5, 2]"), "expected ascending numbers of time steps, found 5 before 2");
  refused(kAtTheEnd, boundaries("[]"), "data.sequences.bucket_boundaries: expected at least one");
  refused("flatten, {dense: {units: 3}}", kBuckets,
          "data.sequences: the shape of 'dense/kernel' depends on the number of time steps: [36, 3] at 9, [8, 3] at 2; "
          "use a "
          "layer that takes any number of them before it");
  refused("{reshape: {target_shape: [12, 3]}}, global_average_pooling1d", kBuckets,
          "data.sequences: at 2 steps the model does not fit: ");
  refused("{group_normalization: {groups: 2}}, {lstm: {units: 5}}, {dense: {units: 3}}", kBuckets,
          "'group_normalization' normalizes over all steps");
  refused(
      "{lstm: {units: 5, go_backwards: true, return_sequences: true}}, global_average_pooling1d, {dense: {units: 3}}",
      kBuckets,
      "'lstm' gives the steps of padding first, so the result depends on their number; remove one of the two, or "
      "data.sequences");
  refused(
      "flip, {lstm: {units: 5}}, {dense: {units: 3}}", kBuckets,
      "'flip' reverses the steps, so the result depends on the number of padded steps; remove it, or data.sequences");
  refused("{reshape: {target_shape: [-1, 4]}}, {dense: {units: 3, name: words}}", kBuckets,
          "data.sequences: the loss counts the steps of padding");
  refused(kAtTheEnd, kBuckets, "'table' reads the model's input and counts padding like anything else",
          {"model.layers[0].embedding.mask_zero=false"});
  refused(kAtTheEnd, kGrouped, "auto_shard: off gives each worker its own", {"data.auto_shard=off"});
  refused(
      kAtTheEnd, kBuckets, "2 of 2 sequences begin with padding, so that none has at most 5 steps",
      {"data.train={format: inline, labels: [0, 1], features: [[0, 0, 0, 0, 0, 0, 0, 1, 2], [0, 0, 0, 0, 0, 0, 0, 0, "
       "3]]}"});
}

}  // namespace
}  // namespace mirrortrain
