// Activations that are computed again in backward: the same bits in less memory.
#include <doctest/doctest.h>

#include <string>

#include "error_text.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

/// Blocks of a hidden layer, dropout and a sum with what came in.
constexpr const char* kBlocks = R"(
seed: 3
data:
  global_batch_size: 64
  train: {format: synthetic, examples: 128, shape: [32], classes: 3, seed: 5}
model:
  input_shape: [32]
  blocks:
    block:
      layers:
        - dense: {units: 500, activation: gelu, name: up}
        - dropout: {rate: 0.1, name: drop}
        - dense: {units: 32, name: down}
        - layer_normalization: {name: norm}
        - add: {inputs: [input, norm], name: out}
  layers:
    - repeat: {times: 8, layers: [block: {name: block}]}
    - dense: {units: 3, name: last}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.01}
strategy: {type: mirrored, devices: [cpu:0, cpu:1], threads_per_replica: 1}
)";

TEST_CASE("recomputed blocks have the same bits and take less memory") {
  Training kept(kBlocks);
  const std::vector<double> losses = kept.steps(4);
  const auto variables = kept.variables();
  const std::size_t whole = kept.strategy->memory().activations;
  for (const char* const layers :
       {"[\"block_*\"]", "[block_1, block_3]", "[[block_2_up, block_2_drop, block_2_down]]"}) {
    CAPTURE(layers);
    Training again(kBlocks, {std::string("model.recompute=") + layers});
    CHECK(again.steps(4) == losses);
    CHECK(again.variables() == variables);
    CHECK(again.strategy->memory().activations < whole);
  }
  Training all(kBlocks, {"model.recompute=[\"block_*\"]"});
  CHECK(all.strategy->memory().activations < whole / 2);  // one block's instead of eight's
  all.steps(1);
}

TEST_CASE("recomputed layers may have statistics, masks and places of a mesh") {
  const std::vector<std::string> layers = {
      "model.blocks=null",
      "model.layers=[{dense: {units: 12, name: a}}, {batch_normalization: {synchronized: true, name: n}}, {activation: "
      "{activation: relu, name: r}}, {dense: {units: 9, activation: tanh, name: b}}, {dense: {units: 3}}]"};
  for (const char* const mesh : {"{data: 2, model: 1}", "{data: 1, model: 2}"}) {
    std::vector<std::string> overrides = layers;
    overrides.push_back(std::string("strategy.mesh=") + mesh);
    Training kept(kBlocks, overrides);
    overrides.emplace_back("model.recompute=[[a, n, r], b]");
    Training again(kBlocks, overrides);
    CHECK(again.steps(5) == kept.steps(5));
    CHECK(again.variables() == kept.variables());
  }
}

TEST_CASE("what names no layer is refused") {
  const auto refused = [](const std::string& items) {
    return error_text([&] { Training(kBlocks, {"model.recompute=" + items}); });
  };
  CHECK(contains(refused("[blok_1]"), "model.recompute: 'blok_1' matches no layer and no use of a block"));
  CHECK(contains(refused("[[last, first]]"), "'first' matches no layer"));
  CHECK(contains(refused("[{a: b}]"), "expected a glob of layers or blocks, or a list of layers"));
}

}  // namespace
}  // namespace mirrortrain
