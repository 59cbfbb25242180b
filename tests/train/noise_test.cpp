// Layers that draw numbers: on any number of replicas the same ones, and with nothing to drop the layer without them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "train/training.h"

namespace mirrortrain {
namespace {

std::string with_layers(const std::string& layers) {
  return R"(
seed: 3
data:
  global_batch_size: 6
  train: {format: synthetic, examples: 24, shape: [5, 3], classes: 3, seed: 5}
model:
  input_shape: [5, 3]
  layers:
)" + layers +
         R"(
    - flatten
    - dense: {units: 3, name: last}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.1}
)";
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 2e-6 * std::abs(b[i]));
}

TEST_CASE("dropout of the state that a recurrent layer reads, of nothing, is the layer without it") {
  for (const char* const cell :
       {"simple_rnn: {units: 4", "lstm: {units: 4", "gru: {units: 4",
        "gru: {units: 4, reset_after: false, go_backwards: true",
        "reshape: {target_shape: [5, 3, 1]}\n    - conv_lstm1d: {filters: 3, kernel_size: 2"}) {
    for (const char* const masked : {"", "    - masking: {mask_value: 7}\n"}) {
      CAPTURE(cell);
      const std::string layer = std::string(masked) + "    - " + cell + ", return_sequences: true";
      Training without(with_layers(layer + "}"));
      Training nothing(with_layers(layer + ", recurrent_dropout: 1.0e-9}"));
      Training dropping(with_layers(layer + ", recurrent_dropout: 0.5}"));
      const std::vector<double> expected = without.steps(4);
      check_close(nothing.steps(4), expected);
      CHECK(std::abs(dropping.steps(4)[3] - expected[3]) > 1e-4);
    }
  }
}

TEST_CASE("what layers draw does not depend on the number of replicas") {
  for (const char* const layer :
       {"gaussian_noise: {stddev: 0.5}", "gaussian_dropout: {rate: 0.4}", "alpha_dropout: {rate: 0.4}",
        "spatial_dropout1d: {rate: 0.4}", "dropout: {rate: 0.4, noise_shape: [null, 1, null]}",
        "lstm: {units: 3, dropout: 0.3, recurrent_dropout: 0.3, return_sequences: true}",
        "reshape: {target_shape: [5, 3, 1]}\n    - conv_lstm1d: {filters: 2, kernel_size: 2, recurrent_dropout: 0.3}",
        "time_distributed: {layer: {dropout: {rate: 0.4}}}"}) {
    CAPTURE(layer);
    const std::string text = with_layers(std::string("    - ") + layer);
    Training one(text, {"strategy.devices=[cpu:0]"}), three(text, {"strategy.devices=[cpu:0, cpu:1, cpu:2]"});
    check_close(three.steps(4), one.steps(4));
  }
}

}  // namespace
}  // namespace mirrortrain
