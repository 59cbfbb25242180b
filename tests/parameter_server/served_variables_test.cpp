#include "strategy/parameter_server/served_variables.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <thread>

#include "error_text.h"

namespace mirrortrain {
namespace {

/// One trained variable and one that layers assign, of so many elements each.
Model model_of(std::int64_t elements, const VariableUpdate& update) {
  Model model;
  for (const bool trainable : {true, false}) {
    ModelVariable variable;
    variable.spec.shape = {elements};
    variable.spec.trainable = trainable;
    variable.update = update;
    model.variables.push_back(std::move(variable));
  }
  model.training.assignments.push_back({1, kNoValue});
  return model;
}

struct Served {
  explicit Served(std::int64_t elements, const scalar::UpdateRule& rule = scalar::Sgd{},
                  const GradientOptions& gradients = {})
      : placement(model_of(elements, {rule, {}}), std::nullopt, 1), variables(placement, 0, gradients) {}

  std::vector<float> values() const {
    std::vector<float> all(static_cast<std::size_t>(placement.elements(Content::kChanging)));
    variables.pull(variables.generation(), Content::kChanging, all);
    return all;
  }
  void write(std::int64_t generation, float value = 0) {
    variables.write(generation,
                    std::vector<float>(static_cast<std::size_t>(placement.elements(Content::kState)), value));
  }

  Placement placement;
  ServedVariables variables;
};

PushedStep pushed(std::int64_t step, float learning_rate = 1) {
  return {.generation = 1,
          .version = 0,
          .step = step,
          .oldest_open_step = 1,
          .updates = step,
          .learning_rates = {learning_rate}};
}

TEST_CASE("a push applies gradients with the optimizer and assigns the rest, and says how old they were") {
  Served served(2);
  served.write(1);
  CHECK(served.variables.push(pushed(1), std::vector<float>{1, 2, 10, 20}).staleness == 0);
  CHECK(served.values() == std::vector<float>{-1, -2, 10, 20});
  const PushResult second = served.variables.push(pushed(2, 0.5f), std::vector<float>{2, 2, 11, 21});
  CHECK(second.staleness == 1);  // pulled before the first was applied
  CHECK(served.values() == std::vector<float>{-2, -3, 11, 21});
}

TEST_CASE("gradients are scaled, then clipped by value") {
  Served served(2, scalar::Sgd{}, {.clip_value = 1.5f});
  served.write(1);
  PushedStep step = pushed(1);
  step.scale = 0.5f;
  served.variables.push(step, std::vector<float>{2, 8, 0, 0});
  CHECK(served.values() == std::vector<float>{-1, -1.5f, 0, 0});
}

TEST_CASE("each step is applied once, also where it comes twice or late") {
  Served served(1);
  served.write(1);
  const std::vector<float> gradient{1, 0};
  CHECK(served.variables.push(pushed(1), gradient).applied);
  CHECK_FALSE(served.variables.push(pushed(1), gradient).applied);
  PushedStep later = pushed(5);
  later.oldest_open_step = 4;
  CHECK(served.variables.push(later, gradient).applied);
  CHECK_FALSE(served.variables.push(pushed(3), gradient).applied);  // done long ago
  CHECK(served.values()[0] == -2);
}

TEST_CASE("values of another generation are neither given nor changed") {
  Served served(1);
  std::vector<float> to(2);
  CHECK(contains(error_text([&] { served.variables.pull(1, Content::kChanging, to); }), "started again"));
  served.write(1);
  served.variables.push(pushed(1), std::vector<float>{1, 0});
  served.write(2, 7);
  CHECK(contains(error_text([&] { served.variables.push(pushed(2), std::vector<float>{1, 0}); }), "generation 2"));
  PushedStep step = pushed(1);
  step.generation = 2;  // after a restart from a checkpoint steps come again
  CHECK(served.variables.push(step, std::vector<float>{1, 0}).applied);
  CHECK(served.values()[0] == 6);
}

TEST_CASE("the state has the optimizer's slots") {
  Served served(2, scalar::Sgd{0.5f, false});
  served.write(1);
  served.variables.push(pushed(1), std::vector<float>{1, 2, 0, 0});
  std::vector<float> state(6);
  served.variables.pull(1, Content::kState, state);
  CHECK(state == std::vector<float>{-1, -2, 0, 0, -1, -2});
}

TEST_CASE("a pull sees each part before or after a push, never within, while pushes come from several threads") {
  constexpr std::int64_t kElements = 20'000;
  constexpr int kPushes = 50;
  Served served(kElements);
  served.write(1);
  const std::vector<float> ones(2 * kElements, 1);
  std::atomic<std::int64_t> next = 0;
  std::vector<std::jthread> pushers;
  for (int i = 0; i < 2; ++i) {
    pushers.emplace_back([&] {
      for (std::int64_t step = ++next; step <= kPushes; step = ++next) served.variables.push(pushed(step), ones);
    });
  }
  int torn = 0;
  float last = 0;
  while (last > -kPushes) {
    const std::vector<float> values = served.values();
    for (std::int64_t i = 1; i < kElements; ++i) torn += values[static_cast<std::size_t>(i)] != values[0] ? 1 : 0;
    last = values[0];
  }
  CHECK(torn == 0);
  CHECK(last == -kPushes);
}

/// A table of 4 rows of 2 and a vector, trained by a rule.
struct ServedTable {
  explicit ServedTable(const scalar::UpdateRule& rule) : placement(model(rule), std::nullopt, 1, sparse()) {
    variables.emplace(placement, 0, GradientOptions());
    std::vector<float> state(static_cast<std::size_t>(placement.elements(Content::kState)));
    std::iota(state.begin(), state.begin() + 8, 0.0f);
    variables->write(1, state);
  }
  static Model model(const scalar::UpdateRule& rule) {
    Model model;
    for (const Shape& shape : {Shape{4, 2}, Shape{3}}) {
      ModelVariable variable;
      variable.spec.shape = shape;
      variable.update = {rule, {}};
      model.variables.push_back(std::move(variable));
    }
    return model;
  }
  static std::span<const std::size_t> sparse() {
    static const std::size_t table = 0;
    return {&table, 1};
  }
  std::vector<float> values() const {
    std::vector<float> all(static_cast<std::size_t>(placement.elements(Content::kChanging)));
    variables->pull(1, Content::kChanging, all);
    return all;
  }

  Placement placement;
  std::optional<ServedVariables> variables;
};

TEST_CASE("of a table with sparse gradients a push and a pull have rows") {
  ServedTable served((scalar::Sgd()));
  CHECK(served.placement.elements(0, Content::kDense) == 3);
  const PartRows gradient{0, {1, 3}, {1, 2, 3, 4}};
  CHECK(served.variables->push(pushed(1), std::vector<float>{1, 1, 1}, {&gradient, 1}).applied);
  CHECK(served.values() == std::vector<float>{0, 1, 1, 1, 4, 5, 3, 3, -1, -1, -1});
  std::vector<float> dense(3);
  PartRows wanted{0, {0, 3}, {}};
  served.variables->pull(1, Content::kDense, dense, {&wanted, 1});
  CHECK(wanted.values == std::vector<float>{0, 1, 3, 3});
  CHECK(dense == std::vector<float>{-1, -1, -1});
}

TEST_CASE("rows that a table lacks are refused, and change nothing") {
  ServedTable served((scalar::Sgd()));
  const std::vector<float> before = served.values(), dense{1, 1, 1};
  for (const PartRows& wrong :
       {PartRows{1, {0}, {1}}, PartRows{2, {0}, {1, 1}}, PartRows{0, {4}, {1, 1}}, PartRows{0, {-1}, {1, 1}},
        PartRows{0, {0.5f}, {1, 1}}, PartRows{0, {2, 1}, {1, 1, 1, 1}}, PartRows{0, {1, 1}, {1, 1, 1, 1}},
        PartRows{0, {NAN}, {1, 1}}, PartRows{0, {1}, {1}}, PartRows{0, {1}, {1, 1, 1}}}) {
    CHECK(error_text([&] { served.variables->push(pushed(1), dense, {&wrong, 1}); }) != "no error");
    CHECK(served.values() == before);
  }
}

TEST_CASE("rows of a part that come twice are refused, and a step that failed does not hold up its repetition") {
  ServedTable served((scalar::Sgd()));
  const std::vector<float> dense{1, 1, 1};
  const std::vector<PartRows> twice{{0, {1}, {1, 1}}, {0, {2}, {1, 1}}};
  CHECK(error_text([&] { served.variables->push(pushed(1), dense, twice); }) != "no error");
  CHECK(served.variables->push(pushed(1), dense, std::span(twice).first(1)).applied);
}

TEST_CASE("a rule that changes weights without a gradient changes all rows at each push, as with dense gradients") {
  for (const scalar::UpdateRule& rule : {scalar::UpdateRule(scalar::Adam()), scalar::UpdateRule(scalar::Lamb())}) {
    ServedTable served(rule);
    Placement whole(ServedTable::model(rule), std::nullopt, 1);
    ServedVariables dense(whole, 0, {});
    std::vector<float> state(static_cast<std::size_t>(whole.elements(Content::kState)));
    std::iota(state.begin(), state.begin() + 8, 0.0f);
    dense.write(1, state);
    for (int step = 1; step < 4; ++step) {
      const auto row = static_cast<float>(step);
      const PartRows gradient{0, {row}, {1, -2}};
      std::vector<float> all(11, 0.5f);
      std::fill_n(all.begin(), 8, 0.0f);
      all[static_cast<std::size_t>(2 * step)] = 1;
      all[static_cast<std::size_t>(2 * step) + 1] = -2;
      served.variables->push(pushed(step, 0.1f), std::vector<float>(3, 0.5f), {&gradient, 1});
      dense.push(pushed(step, 0.1f), all);
    }
    std::vector<float> expected(11);
    dense.pull(1, Content::kChanging, expected);
    CHECK(served.values() == expected);
  }
}

}  // namespace
}  // namespace mirrortrain
