// Models of tokens: tables that two layers share, and numbers that come from files.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "base/files.h"
#include "error_text.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

/// A language model whose output layer has the table of its input.
constexpr const char* kTied = R"(
seed: 3
data:
  global_batch_size: 6
  shuffle: false
  train:
    format: inline
    features: [[1, 2, 3], [0, 4, 4], [2, 2, 1], [3, 0, 1], [4, 1, 0], [0, 0, 2]]
    labels: [[2, 3, 0], [4, 4, 1], [2, 1, 3], [0, 1, 2], [1, 0, 4], [0, 2, 2]]
model:
  input_shape: [3]
  layers:
    - embedding: {input_dim: 5, output_dim: 4, embeddings_initializer: {random_normal: {stddev: 0.5}}, name: tokens}
    - dense: {units: 4, activation: tanh, name: inner}
    - dense: {units: 5, tied_to: tokens, name: logits}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.5}
strategy: {type: mirrored, devices: [cpu:0]}
)";

TEST_CASE("a tied table learns from both of its uses, as finite differences have it") {
  Training training(kTied);
  const auto before = training.variables();
  CHECK(before.size() == 4);  // the table once
  training.steps(1);
  const auto& first = before.at("tokens/embeddings");
  const auto loss_with = [&](std::size_t element, float change) {
    Training other(kTied);
    std::vector<float> table = first;
    table[element] += change;
    other.strategy->change_variables(Lasting::kValues, [&](const LastingVariable& variable) {
      if (variable.index == 0) variable.value.set(std::as_bytes(std::span(table)).data());
    });
    return other.steps(1)[0];
  };
  for (std::size_t i = 0; i < first.size(); i += 3) {
    const double slope = (loss_with(i, 1e-2f) - loss_with(i, -1e-2f)) / 2e-2;
    const double applied = (double(first[i]) - training.variables().at("tokens/embeddings")[i]) / 0.5;
    CHECK(applied == doctest::Approx(slope).epsilon(2e-3).scale(0.1));
  }
}

TEST_CASE("tokens in npy files of any kind of integers train as those in the configuration") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& type, auto number, std::size_t columns,
                         const std::vector<int>& values) {
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}", type,
                                     values.size() / columns, columns);
    header.resize(117, ' ');
    std::string content = std::string("\x93NUMPY\1\0\x76\0", 10) + header + "\n";
    for (const int value : values) {
      number = static_cast<decltype(number)>(value);
      content.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
    write_file(folder / name, content);
    return (folder / name).string();
  };
  const std::vector<int> tokens = {1, 2, 3, 0, 4, 4, 2, 2, 1, 3, 0, 1, 4, 1, 0, 0, 0, 2};
  const std::vector<int> next = {2, 3, 0, 4, 4, 1, 2, 1, 3, 0, 1, 2, 1, 0, 4, 0, 2, 2};
  const std::string labels = write("y.npy", "<i8", std::int64_t{}, 3, next);
  const auto expected = Training(kTied).steps(4);
  for (const std::string& features :
       {write("u2.npy", "<u2", std::uint16_t{}, 3, tokens), write("i4.npy", "<i4", std::int32_t{}, 3, tokens),
        write("i8.npy", "<i8", std::int64_t{}, 3, tokens)}) {
    CAPTURE(features);
    const std::string train = fmt::format("data.train={{format: npy, features: {}, labels: {}}}", features, labels);
    CHECK(Training(kTied, {train}).steps(4) == expected);
  }
  std::vector<int> beyond = tokens;
  beyond[7] = 5;
  const std::string train = fmt::format("data.train={{format: npy, features: {}, labels: {}}}",
                                        write("beyond.npy", "<u2", std::uint16_t{}, 3, beyond), labels);
  const std::string error = error_text([&] { Training(kTied, {train}); });
  CHECK_MESSAGE(contains(error, "beyond.npy: row 2 (counting from 0)"), error);
}

TEST_CASE("a tied table is the same on any number of replicas") {
  Training one(kTied);
  const auto losses = one.steps(5);
  CHECK(losses[4] < losses[0]);
  for (const char* devices : {"strategy.devices=[cpu:0,cpu:1]", "strategy.devices=[cpu:0,cpu:1,cpu:2]"}) {
    Training several(kTied, {devices});
    several.steps(5);
    CHECK(difference(one.variables(), several.variables()) < 1e-5);
  }
}

TEST_CASE("a checkpoint's file holds a tied table once, and a bias of the output beside it") {
  const Training training(kTied);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : copy_weights(*training.strategy)) names.push_back(name);
  CHECK(names == std::vector<std::string>{"inner/bias", "inner/kernel", "logits/bias", "tokens/embeddings"});
}

TEST_CASE("a tied table trains in mixed precision and with accumulated, clipped gradients nearly as in float32") {
  const auto expected = Training(kTied).steps(6);
  const auto mixed = Training(kTied, {"training.precision=mixed_bfloat16"}).steps(6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(mixed[i] == doctest::Approx(expected[i]).epsilon(0.02));
  Training whole(kTied, {"gradients={clip_norm: 0.1}"}),
      halves(kTied, {"data.global_batch_size=3", "gradients={clip_norm: 0.1, accumulate_steps: 2}"});
  whole.steps(2);
  halves.steps(4);
  CHECK(difference(whole.variables(), halves.variables()) < 1e-5);
}

TEST_CASE("masking finds padding whose value bfloat16 rounds") {
  const std::string padded =
      "data.train={format: inline, features: [[[1, -2], [0.1, 0.1], [0.1, 0.1]], [[2, 1], [-1, 3], [0.1, 0.1]]], "
      "labels: [[1], [-1]]}";
  const auto first_loss = [&](const char* masking, const char* precision) {
    return Training(kTied, {padded, "model.input_shape=[3, 2]", "data.global_batch_size=2",
                            fmt::format("model.layers=[{}{{gru: {{units: 3}}}}, {{dense: {{units: 1}}}}]", masking),
                            "loss=mean_squared_error", fmt::format("training.precision={}", precision)})
        .steps(1)[0];
  };
  const char* const masking = "{masking: {mask_value: 0.1}}, ";
  const double masked = first_loss(masking, "float32"), unmasked = first_loss("", "float32");
  CHECK(std::abs(masked - unmasked) > 0.02 * unmasked);
  CHECK(first_loss(masking, "mixed_bfloat16") == doctest::Approx(masked).epsilon(0.01));
}

}  // namespace
}  // namespace mirrortrain
