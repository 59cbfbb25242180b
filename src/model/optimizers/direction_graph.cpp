#include "model/optimizers/direction_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <variant>

#include "graph/ops/elementwise.h"
#include "graph/ops/matmul.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain {
namespace {

/// Builds the graph of a direction.
class Maker {
 public:
  Maker(const VariableUpdate& update, const Shape& shape) : update_(update), shape_(shape) {
    made_.graph.set_layer("optimizer");
    const auto number = [&](const char* name) { return made_.graph.variable({name, Shape{}}); };
    made_.gradient = made_.graph.input("gradient", {DType::kFloat32, shape, true});
    made_.weight = made_.graph.input("weight", {DType::kFloat32, shape, true});
    made_.scale = number("scale");
    made_.clip_value = number("clip_value");
    made_.learning_rate = number("learning_rate");
    made_.update = number("update");
    for (const UpdateState& state : states_of(update, shape)) {
      made_.states.push_back(made_.graph.input(state.name, {DType::kFloat32, state.shape, true}));
    }
  }

  DirectionGraph make() {
    made_.direction = std::visit([this](const auto& rule) { return of_rule(rule, clipped_gradient()); }, update_.rule);
    return std::move(made_);
  }

 private:
  ValueId formula(std::string_view text, const formula::Values& values) {
    return formula::add_formula(made_.graph, text, values, DType::kFloat32);
  }

  ValueId clipped_gradient() {
    const ValueId g = formula("clip(g * scale, -limit, limit)",
                              {{"g", made_.gradient}, {"scale", made_.scale}, {"limit", made_.clip_value}});
    if (!update_.clip_norm) return g;
    // As TensorFlow's clip_by_norm: what is within the bound stays as it is.
    const ValueId norm = formula("sqrt(sum(square(g)))", {{"g", g}});
    return formula(fmt::format("g * ({0} / maximum(norm, {0}))", static_cast<float>(*update_.clip_norm)),
                   {{"g", g}, {"norm", norm}});
  }

  /// A rule of single weights: the gradient itself is what it gets.
  template <class Rule>
  ValueId of_rule(const Rule&, ValueId gradient) {
    return gradient;
  }

  ValueId of_rule(const scalar::Adafactor& rule, ValueId g) {
    const auto& states = made_.states;
    const auto next = [&](ValueId state, std::string_view now) {
      // 1 - beta_2 = t^decay, and beta_2 without a difference of almost equal numbers.
      const std::string text =
          fmt::format("-expm1({0} * log(t)) * state + exp({0} * log(t)) * {1}", rule.beta_2_decay,
                      fmt::format(fmt::runtime(now), fmt::format("(square(g) + {})", rule.epsilon_1)));
      return formula(text, {{"state", state}, {"g", g}, {"t", made_.update}});
    };
    ValueId u = kNoValue;
    if (shape_.rank() < 2) {
      made_.new_states = {next(states[0], "{}")};
      u = formula("g / sqrt(v)", {{"g", g}, {"v", made_.new_states[0]}});
    } else {
      made_.new_states = {next(states[0], "mean({}, axis=-1)"), next(states[1], "mean({}, axis=-2)")};
      const formula::Values means{{"r", made_.new_states[0]}, {"c", made_.new_states[1]}, {"g", g}};
      u = formula("g / (sqrt(r / mean(r, axis=-1, keepdims=true))[..., None] * sqrt(c)[..., None, :])", means);
    }
    const auto& traits = update_.traits;
    const std::string kept = fmt::format("(1 - {} * rate)", traits.weight_decay * traits.rate_factor);
    return formula(fmt::format("u / maximum(1, sqrt(mean(square(u))) / {}) * maximum({}, sqrt(mean(square(w * {}))))",
                               rule.clip_threshold, rule.epsilon_2, kept),
                   {{"u", u}, {"w", made_.weight}, {"rate", made_.learning_rate}});
  }

  ValueId of_rule(const scalar::Muon& rule, ValueId g) {
    const ValueId m = formula(fmt::format("{} * m + g", rule.momentum), {{"m", made_.states[0]}, {"g", g}});
    made_.new_states = {m};
    ValueId x = rule.nesterov ? formula(fmt::format("g + {} * m", rule.momentum), {{"m", m}, {"g", g}}) : m;
    x = formula("x / (sqrt(sum(square(x))) + 1e-7)", {{"x", x}});
    // Of the smaller side, so that A is the smaller of the two squares.
    const bool is_tall = shape_[0] > shape_[1];
    const auto product = [&](ValueId one, ValueId other, bool first_transposed = false, bool transposed = false) {
      return made_.graph.apply_one(ops::MatMul(first_transposed, transposed), {one, other});
    };
    for (std::int64_t i = 0; i < rule.ns_steps; ++i) {
      const ValueId square = is_tall ? product(x, x, true) : product(x, x, false, true);
      const ValueId polynomial =
          formula(fmt::format("{} * A + {} * AA", rule.b, rule.c), {{"A", square}, {"AA", product(square, square)}});
      const ValueId turned = is_tall ? product(x, polynomial) : product(polynomial, x);
      x = formula(fmt::format("{} * x + turned", rule.a), {{"x", x}, {"turned", turned}});
    }
    if (rule.rms_rate == 0) return x;
    const double larger = static_cast<double>(std::max(shape_[0], shape_[1]));
    return formula(fmt::format("{} * x", static_cast<float>(std::sqrt(larger) * rule.rms_rate)), {{"x", x}});
  }

  const VariableUpdate& update_;
  const Shape& shape_;
  DirectionGraph made_;
};

}  // namespace

DirectionGraph direction_of(const VariableUpdate& update, const Shape& shape) { return Maker(update, shape).make(); }

}  // namespace mirrortrain
