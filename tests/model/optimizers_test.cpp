#include "model/optimizers.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "config/document.h"
#include "error_text.h"
#include "model/from_text.h"

using namespace mirrortrain;

namespace {

struct Described {
  Optimizers optimizer;
  static config::Section<Described> section() {
    return config::Section<Described>("An optimizer.").key("optimizer", &Described::optimizer, "The optimizer.");
  }
};

struct Case {
  const char* yaml;
  double learning_rate;
  scalar::UpdateRule rule;
  std::vector<std::string> slots;
};

// Keras's names, defaults and slots.
const std::vector<Case> kCases = {
    {"sgd", 0.01, scalar::Sgd{0, false}, {}},
    {"{type: sgd, nesterov: true}", 0.01, scalar::Sgd{0, true}, {}},
    {"{type: sgd, momentum: 0.9}", 0.01, scalar::Sgd{0.9f, false}, {"momentum"}},
    {"{type: sgd, learning_rate: 0.1, momentum: 0.9, nesterov: true}", 0.1, scalar::Sgd{0.9f, true}, {"momentum"}},
    {"adam", 0.001, scalar::Adam{0.9f, 0.999f, 1e-7f}, {"momentum", "velocity"}},
    {"{type: adam, beta_1: 0.5, beta_2: 0.75, epsilon: 1}",
     0.001,
     scalar::Adam{0.5f, 0.75f, 1},
     {"momentum", "velocity"}},
    {"{type: adam, amsgrad: true}",
     0.001,
     scalar::Adam{0.9f, 0.999f, 1e-7f, true},
     {"momentum", "velocity", "velocity_hat"}},
    {"adamw", 0.001, scalar::Adam{0.9f, 0.999f, 1e-7f}, {"momentum", "velocity"}},
    {"rmsprop", 0.001, scalar::Rmsprop{0.9f, 0, 1e-7f, false}, {"velocity"}},
    {"{type: rmsprop, rho: 0.5, momentum: 0.25, centered: true}",
     0.001,
     scalar::Rmsprop{0.5f, 0.25f, 1e-7f, true},
     {"velocity", "momentum", "average_gradient"}},
    {"adagrad", 0.001, scalar::Adagrad{0.1f, 1e-7f}, {"accumulator"}},
    {"adadelta", 0.001, scalar::Adadelta{0.95f, 1e-7f}, {"accumulated_grad", "accumulated_delta_var"}},
    {"adamax", 0.001, scalar::Adamax{0.9f, 0.999f, 1e-7f}, {"momentum", "norm"}},
    {"nadam", 0.001, scalar::Nadam{0.9f, 0.999f, 1e-7f}, {"momentum", "velocity"}},
    {"ftrl", 0.001, scalar::Ftrl{-0.5f, 0.1f, 0, 0, 0, 0}, {"accumulator", "linear"}},
    {"lion", 0.001, scalar::Lion{0.9f, 0.99f}, {"momentum"}},
    {"lamb", 0.001, scalar::Lamb{0.9f, 0.999f, 1e-7f}, {"momentum", "velocity"}},
    {"schedule_free_adamw", 0.0025, scalar::ScheduleFreeAdam{0.9f, 0.999f, 1e-8f}, {"momentum", "velocity"}},
    {"adafactor", 0.001, scalar::Adafactor{-0.8f, 1e-30f, 1e-3f, 1, true}, {"row", "column"}},
    {"muon", 0.001, scalar::Muon{0.95f, true, 3.4445f, -4.775f, 2.0315f, 5, 0.2f}, {"momentum"}},
    {"{type: sgd, use_ema: true}", 0.01, scalar::Sgd{0, false}, {"average"}},
};

}  // namespace

TEST_CASE("an optimizer's keys become its rule, with Keras's defaults and slots") {
  for (const Case& test : kCases) {
    CAPTURE(test.yaml);
    config::Errors errors;
    config::Document document = config::load_text(std::string("optimizer: ") + test.yaml, "test", {}, errors);
    const Optimizer optimizer = config::read<Described>(document, errors).optimizer.all.at(0);
    errors.throw_if_any();
    CHECK(learning_rate_at(learning_rate_of(optimizer), 1) == test.learning_rate);
    CHECK(rule(optimizer) == test.rule);
    const VariableUpdate update{rule(optimizer), {.averages = options_of(optimizer).use_ema}};
    CHECK(slot_names(update, {2, 3}) == test.slots);
    CHECK(first_slots(update, {2, 3}).size() == test.slots.size());
  }
}

TEST_CASE("slots start at what Keras starts them at") {
  CHECK(first_slots({scalar::Adagrad{}, {}}, {2}) == std::vector<float>{0.1f});
  CHECK(first_slots({scalar::Ftrl{}, {}}, {2}) == std::vector<float>{0.1f, 0});
  CHECK(first_slots({scalar::Adam{}, {}}, {2}) == std::vector<float>{0, 0});
  CHECK(first_slots({scalar::Adagrad{}, {.averages = true}, 1.0}, {2}) == std::vector<float>{0.1f, 0});
}

namespace {

/// A dense layer and a frozen one with an optimizer, which is applied to them.
Built with_optimizer(const std::string& optimizer) {
  Built built = build_from(
      "model:\n  input_shape: [3]\n  layers:\n    - dense: {units: 2, name: stem}\n    - dense: {units: 2, name: "
      "head}\n"
      "    - dense: {units: 2, name: frozen, trainable: false}\nloss: mean_squared_error\noptimizer: " +
      optimizer + "\n");
  if (!built.errors.empty()) return built;
  config::Errors errors;
  set_updates(built.description.optimizer, {}, built.model, errors);
  if (!errors.empty()) built.errors = errors.text();
  return built;
}

}  // namespace

TEST_CASE("weight decay leaves out what is excluded, and the first factor that matches counts") {
  const Built built = with_optimizer(
      "{type: adamw, exclude_from_weight_decay: [\"*/bias\"], learning_rate_factors: [{match: \"stem/bias\", factor: "
      "3}, "
      "{match: \"stem/*\", factor: 0.5}]}");
  REQUIRE(built.errors == "");
  const auto& variables = built.model.variables;  // kernel and bias of each
  CHECK(variables[0].update.traits == scalar::UpdateTraits{0.5f, 0.004f});
  CHECK(variables[1].update.traits == scalar::UpdateTraits{3, 0});
  CHECK(variables[2].update.traits == scalar::UpdateTraits{1, 0.004f});
  CHECK(variables[4].update.traits == scalar::UpdateTraits{});
  const Built averaged = with_optimizer("{type: sgd, use_ema: true, ema_momentum: 0.5, ema_overwrite_frequency: 7}");
  CHECK(averaged.model.variables[0].update.traits == scalar::UpdateTraits{1, 0, true, 0.5f, 7});
}

TEST_CASE("options of an optimizer that have no effect are errors") {
  const auto error_of = [](const std::string& optimizer) { return with_optimizer(optimizer).errors; };
  CHECK(contains(error_of("{type: adamw, exclude_from_weight_decay: [\"*/bais\"]}"),
                 "exclude_from_weight_decay[0]: '*/bais' matches no trainable variable; their names are 'stem/kernel', "
                 "'stem/bias'"));
  CHECK(contains(error_of("{type: sgd, learning_rate_factors: [{match: stem, factor: 2}]}"),
                 "'stem' matches no trainable variable; for those of the layer write 'stem/*'"));
  CHECK(contains(error_of("{type: sgd, learning_rate_factors: [{layers: stem, factor: 2}]}"),
                 "learning_rate_factors[0].layers: unknown key; did you mean 'match'?"));
  CHECK(contains(
      error_of("{type: sgd, learning_rate_factors: [{match: \"*\", factor: 2}, {match: \"stem/*\", factor: 3}]}"),
      "learning_rate_factors[1]: the factors before it are for all variables that 'stem/*' matches"));
  CHECK(contains(error_of("{type: sgd, learning_rate_factors: [{match: \"frozen/*\", factor: 2}]}"),
                 "matches no trainable variable"));
  CHECK(contains(with_optimizer("{type: adam, exclude_from_weight_decay: [\"*/bias\"]}").errors,
                 "no effect without `weight_decay`"));
  CHECK(with_optimizer("{type: muon, weight_decay: null, exclude_from_weight_decay: [\"*/bias\"]}").errors.empty());
  CHECK(contains(error_of("{type: adam, ema_momentum: 0.5}"), "no effect without `use_ema: true`"));
  CHECK(contains(error_of("{type: adam, ema_overwrite_frequency: 5}"), "no effect without `use_ema: true`"));
  CHECK(contains(error_of("{type: lion, beta_1: 0}"), "beta_1"));
  CHECK(contains(error_of("{type: ftrl, learning_rate_power: 0.5}"), "learning_rate_power"));
  CHECK(contains(error_of("{type: rmsprop, rh: 0.5}"), "did you mean 'rho'?"));
}

TEST_CASE("muon has the matrices that are not excluded, and Adam the rest at its own rate and decay") {
  const Built built = with_optimizer("{type: muon, exclude_layers: [\"^h\"], adam_lr_ratio: 0.5, clipnorm: 2}");
  REQUIRE(built.errors == "");
  const auto& variables = built.model.variables;
  CHECK(variables[0].update == VariableUpdate{scalar::Muon{}, {.weight_decay = 0.004f, .is_scaled = true}, 2.0});
  const VariableUpdate adam{scalar::Adam{}, {.rate_factor = 0.5f, .weight_decay = 0.008f, .is_scaled = true}, 2.0};
  CHECK(variables[1].update == adam);
  CHECK(variables[2].update == adam);
  CHECK(contains(with_optimizer("{type: muon, exclude_layers: [\"(\"]}").errors, "'(' is not a regular expression"));
  // An expression that a backtracking matcher would try for hours.
  CHECK(with_optimizer("{type: muon, exclude_layers: [\"^(.|.)*(.|.)*(.|.)*x$\"]}").errors.empty());
}

TEST_CASE("of several optimizers the first that matches has a variable") {
  const Built built = with_optimizer(
      "[{type: adam, match: \"head/*\", learning_rate: 0.5}, {type: adafactor, match: \"*/kernel\"}, sgd]");
  REQUIRE(built.errors == "");
  const auto& variables = built.model.variables;
  CHECK(variables[0].update == VariableUpdate{scalar::Adafactor{}, {.is_scaled = true, .optimizer = 1}});
  CHECK(variables[1].update == VariableUpdate{scalar::Sgd{}, {.optimizer = 2}});
  CHECK(variables[2].update == VariableUpdate{scalar::Adam{}, {}});
  CHECK(variables[3].update == VariableUpdate{scalar::Adam{}, {}});
}

TEST_CASE("a list of optimizers that leaves variables out, or has one for none, is an error") {
  const auto error_of = [](const std::string& optimizer) { return with_optimizer(optimizer).errors; };
  CHECK(contains(error_of("[{type: adam, match: \"*/kernel\"}]"),
                 "none of the list is for 'stem/bias', 'head/bias'; add an optimizer without `match`"));
  CHECK(contains(error_of("[adam, {type: sgd, match: \"*/bias\"}]"),
                 "optimizer[1]: the optimizers before it have all variables"));
  CHECK(contains(error_of("[{type: adam, match: \"head/*\"}, {type: sgd, match: \"head/bias\"}, sgd]"),
                 "the optimizers before it have all variables that 'head/bias' matches"));
  CHECK(contains(error_of("[{type: adam, match: haed}, sgd]"), "'haed' matches no trainable variable"));
  CHECK(contains(error_of("{type: adam, match: \"head/*\"}"), "one optimizer has all variables"));
  CHECK(contains(error_of("[{type: adam, match: \"head/*\", loss_scale_factor: 8}, sgd]"), "of the whole loss"));
  CHECK(contains(error_of("[]"), "optimizer"));
  CHECK(contains(error_of("[sgd, sgd, sgd, sgd, sgd, sgd, sgd, sgd, sgd]"), "at most 8 optimizers, found 9"));
}
