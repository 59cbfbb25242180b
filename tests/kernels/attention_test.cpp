#include "graph/ops/attention.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "kernels/harness.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

constexpr StepParams kStep{.seed = 99, .step = 4, .first_row = 20, .global_examples = 64};

struct Sizes {
  std::int64_t steps, sources, size, value_size;
};

/// 1 / (1 - rate) where dropout keeps a weight, 0 where it drops it.
double kept(const ops::AttentionAttributes& op, const Sizes& s, std::int64_t row, std::int64_t head, std::int64_t step,
            std::int64_t source) {
  if (op.dropout == 0) return 1;
  const auto element =
      static_cast<std::uint32_t>(((op.first_head + head) * s.steps + step) * ((s.sources + 3) / 4 * 4) + source);
  const Philox::Words words =
      Philox::with_key(kStep.seed)(element / 4, static_cast<std::uint32_t>(kStep.first_row + row),
                                   static_cast<std::uint32_t>(kStep.step), op.stream);
  return uniform_from_bits(words.word[element % 4]) < op.dropout ? 0 : 1 / (1 - static_cast<double>(op.dropout));
}

Reference attended(const ops::AttentionAttributes& op, const Sizes& s) {
  return [=](const std::vector<Values>& inputs) {
    const Values &query = inputs[0], &key = inputs[1], &value = inputs[2];
    Values y = filled({query.rows(), s.steps, op.heads * s.value_size});
    Values log_sums = filled({query.rows(), op.heads, s.steps});
    for (std::int64_t i = 0; i < query.rows() * op.heads * s.steps; ++i) {
      const std::int64_t row = i / (op.heads * s.steps), head = i / s.steps % op.heads, step = i % s.steps;
      std::int64_t seen = op.causal ? std::min(step + 1, s.sources) : s.sources;
      const auto is_near = [&](std::int64_t j) { return op.window == 0 || std::abs(step - j) < op.window; };
      const auto counts = [&](std::size_t mask, std::int64_t of, std::int64_t at) {
        return inputs.size() <= mask || inputs[mask].absent || inputs[mask][row * of + at] != 0;
      };
      bool is_blind = true;
      for (std::int64_t j = 0; j < seen; ++j) {
        is_blind = is_blind && !(counts(3, s.steps, step) && counts(4, s.sources, j) && is_near(j));
      }
      if (is_blind) seen = op.blind_sees_all ? s.sources : 0;
      if (seen == 0) continue;
      std::vector<double> weights;
      double largest = -1e300, total = 0;
      for (std::int64_t j = 0; j < seen; ++j) {
        double dot = 0;
        for (std::int64_t c = 0; c < s.size; ++c) {
          dot += query[((row * s.steps + step) * op.heads + head) * s.size + c] *
                 key[((row * s.sources + j) * op.heads + head) * s.size + c];
        }
        const bool is_seen = counts(4, s.sources, j) && is_near(j);
        weights.push_back(is_blind ? 0 : is_seen ? dot * static_cast<double>(op.scale) : -1e9);
        largest = std::max(largest, weights.back());
      }
      for (double& weight : weights) total += weight = std::exp(weight - largest);
      log_sums[(row * op.heads + head) * s.steps + step] = largest + std::log(total);
      for (std::int64_t j = 0; j < seen; ++j) {
        for (std::int64_t c = 0; c < s.value_size; ++c) {
          y[((row * s.steps + step) * op.heads + head) * s.value_size + c] +=
              weights[static_cast<std::size_t>(j)] / total * kept(op, s, row, head, step, j) *
              value[((row * s.sources + j) * op.heads + head) * s.value_size + c];
        }
      }
    }
    return std::vector<Values>{y, log_sums};
  };
}

Case attention_case(DType dtype, const Sizes& s, const ops::AttentionAttributes& op) {
  return {.name = fmt::format("{} steps {} of {}, sizes {} and {}, {} heads{}, dropout {}", name_of(dtype), s.steps,
                              s.sources, s.size, s.value_size, op.heads, op.causal ? ", causal" : "", op.dropout),
          .op = std::make_shared<ops::Attention>(op),
          .inputs = {batched(dtype, {s.steps, op.heads * s.size}), batched(dtype, {s.sources, op.heads * s.size}),
                     batched(dtype, {s.sources, op.heads * s.value_size})},
          .reference = attended(op, s),
          .rows = {2, 0},
          .tolerance = dtype == DType::kFloat32 ? 5e-6 : 2e-2,
          .step = kStep};
}

}  // namespace

TEST_CASE("attention matches a reference in double, whatever fits into blocks and vectors") {
  for (const DType dtype : kFloatTypes) {
    for (const bool causal : {false, true}) {
      for (const Sizes& s : {Sizes{1, 1, 1, 1}, Sizes{4, 4, 5, 3}, Sizes{3, 7, 16, 20}, Sizes{6, 2, 20, 16},
                             Sizes{5, 7, 64, 64}, Sizes{7, 4, 128, 128}}) {
        const Case test = attention_case(
            dtype, s, {.heads = 2, .scale = 1 / std::sqrt(static_cast<float>(s.size)), .causal = causal});
        check_forward(test);
        check_gradient(test, {true, true, true});
      }
      if (dtype != DType::kFloat32) continue;
      // More than a block of queries and two of keys.
      Case large = attention_case(dtype, {34, 140, 4, 4}, {.heads = 1, .scale = 0.5f, .causal = causal});
      large.rows = {1};
      check_forward(large);
    }
  }
}

TEST_CASE("gradients of attention across blocks") {
  Case test = attention_case(DType::kFloat32, {34, 140, 2, 2}, {.heads = 1, .scale = 0.7f, .causal = false});
  test.rows = {1};
  check_gradient(test, {true, true, true});
  Case causal = attention_case(DType::kFloat32, {40, 132, 2, 2}, {.heads = 1, .scale = 0.7f, .causal = true});
  causal.rows = {1};
  check_gradient(causal, {true, true, true});
}

TEST_CASE("dropout of attention follows its rule, forward and backward") {
  for (const Sizes& s : {Sizes{5, 5, 4, 4}, Sizes{2, 134, 2, 2}, Sizes{4, 6, 64, 64}}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t first_head : {0, 3}) {
        const Case test = attention_case(
            DType::kFloat32, s,
            {.heads = 2, .scale = 0.5f, .causal = causal, .dropout = 0.3f, .stream = 5, .first_head = first_head});
        check_forward(test);
        check_gradient(test, {true, true, true});
      }
    }
  }
}

TEST_CASE("masks of query and value hide steps, and a step that sees nothing attends to all or none") {
  // The first row has padding in front, the second none, the third nothing else.
  const auto mask = [](std::int64_t steps) {
    return batched(DType::kFloat32, {steps}, [steps](std::int64_t i, double uniform) {
      const std::int64_t row = i / steps, step = i % steps;
      return row == 1 || (row == 0 && step >= steps / 2) || (row > 2 && uniform > 0) ? 1.0 : 0.0;
    });
  };
  const auto check = [&](DType dtype, const Sizes& s, bool causal, bool of_query, bool of_value, bool all) {
    Case test = attention_case(dtype, s, {.heads = 2, .scale = 0.5f, .causal = causal, .blind_sees_all = all});
    test.name += fmt::format(", masks of query {} and value {}, blind {}", of_query, of_value, all);
    test.rows = {4};
    test.inputs.push_back(of_query ? mask(s.steps) : absent());
    test.inputs.push_back(of_value ? mask(s.sources) : absent());
    check_forward(test);
    check_gradient(test, {true, true, true, false, false});
  };
  for (const bool causal : {false, true}) {
    for (const Sizes& s : {Sizes{1, 1, 1, 1}, Sizes{5, 5, 3, 2}, Sizes{3, 7, 4, 5}}) {
      check(DType::kFloat32, s, causal, true, false, true);
      check(DType::kFloat32, s, causal, false, true, true);
      check(DType::kFloat32, s, causal, true, true, true);
      check(DType::kFloat32, s, causal, true, true, false);
    }
    check(DType::kBfloat16, {5, 5, 3, 2}, causal, true, true, true);
  }
}

TEST_CASE("masks hide source steps across blocks") {
  for (const bool causal : {false, true}) {
    Case large = attention_case(DType::kFloat32, {34, 132, 2, 2}, {.heads = 1, .scale = 0.5f, .causal = causal});
    large.rows = {2};
    large.inputs.push_back(absent());
    // In the first row a whole block is hidden.
    large.inputs.push_back(batched(DType::kFloat32, {132}, [](std::int64_t i, double) {
      return i % 132 >= (i < 132 ? 129 : 30) && i % 132 != 130 ? 1.0 : 0.0;
    }));
    check_forward(large);
    if (causal) check_gradient(large, {true, true, true, false, false});
  }
}

TEST_CASE("a window hides source steps that are farther away, across blocks and beside masks") {
  for (const bool causal : {false, true}) {
    for (const std::int64_t window : {1, 2, 4}) {
      for (const Sizes& s : {Sizes{1, 1, 1, 1}, Sizes{6, 6, 3, 2}, Sizes{3, 9, 4, 5}, Sizes{9, 3, 2, 2}}) {
        for (const bool masked : {false, true}) {
          Case test = attention_case(masked ? DType::kFloat32 : DType::kBfloat16, s,
                                     {.heads = 2, .scale = 0.5f, .causal = causal, .window = window});
          test.name += fmt::format(", window {}", window);
          if (masked) {
            test.rows = {3};
            test.inputs.push_back(absent());
            test.inputs.push_back(batched(DType::kFloat32, {s.sources}, [&](std::int64_t i, double uniform) {
              return i % 2 == 0 || uniform > 0 ? 1.0 : 0.0;
            }));
          }
          check_forward(test);
          // Where a step sees one other, the gradient of their score is rounding alone.
          if (masked && window > 1) check_gradient(test, {true, true, true, false, false});
        }
      }
    }
  }
  Case large = attention_case(DType::kFloat32, {150, 290, 2, 2}, {.heads = 1, .scale = 0.5f, .window = 9});
  large.rows = {1};
  check_forward(large);
  Case dropped = attention_case(DType::kFloat32, {40, 40, 2, 2},
                                {.heads = 2, .scale = 0.5f, .causal = true, .window = 5, .dropout = 0.3f, .stream = 5});
  dropped.rows = {1};
  check_forward(dropped);
  check_gradient(dropped, {true, true, true});
}

TEST_CASE("large scores neither overflow nor vanish") {
  const ValueSpec spec{DType::kFloat32, {2, 1}, true};
  Values query = filled({1, 2, 1}, 300), key = filled({1, 2, 1}, 1), value = filled({1, 2, 1}, 2);
  key[1] = -1;
  value[1] = 7;
  const Values y = run_op(ops::Attention({.scale = 1}), {{spec, query}, {spec, key}, {spec, value}}, 1)[0];
  CHECK(y[0] == doctest::Approx(2));
  CHECK(y[1] == doctest::Approx(2));
}

TEST_CASE("inputs of attention that do not fit together are refused") {
  Graph graph;
  const auto input = [&](const char* name, Shape shape) {
    return graph.input(name, {DType::kFloat32, std::move(shape), true});
  };
  const ValueId query = input("q", {4, 6}), key = input("k", {5, 6}), value = input("v", {3, 6});
  CHECK_THROWS_WITH(graph.apply(ops::Attention({.heads = 4}), {query, key, key}),
                    "attention: expected [steps, features of 4 heads] per row, float32 or bfloat16, found float32 [4, "
                    "6] per row");
  CHECK_THROWS_WITH(graph.apply(ops::Attention({.heads = 2}), {query, key, value}),
                    "attention: expected the value as float32 [5, 6] per row, found float32 [3, 6] per row");
}
