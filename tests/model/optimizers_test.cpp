#include "model/optimizers.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "config/document.h"

using namespace mirrortrain;

namespace {

struct Described {
  Optimizer optimizer;
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
    {"adamw", 0.001, scalar::AdamW{{0.9f, 0.999f, 1e-7f}, 0.004f}, {"momentum", "velocity"}},
    {"{type: adamw, beta_2: 0.75, weight_decay: 0.5}",
     0.001,
     scalar::AdamW{{0.9f, 0.75f, 1e-7f}, 0.5f},
     {"momentum", "velocity"}},
};

}  // namespace

TEST_CASE("an optimizer's keys become its rule, with Keras's defaults and slots") {
  for (const Case& test : kCases) {
    CAPTURE(test.yaml);
    config::Errors errors;
    config::Document document = config::load_text(std::string("optimizer: ") + test.yaml, "test", {}, errors);
    const Optimizer optimizer = config::read<Described>(document, errors).optimizer;
    errors.throw_if_any();
    CHECK(learning_rate_at(learning_rate_of(optimizer), 1) == test.learning_rate);
    CHECK(rule(optimizer) == test.rule);
    const auto slots = scalar::slot_names(rule(optimizer));
    CHECK(std::vector<std::string>(slots.begin(), slots.end()) == test.slots);
  }
}
