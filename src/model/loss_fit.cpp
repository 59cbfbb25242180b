#include "model/loss_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>
#include <type_traits>

#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "model/activation.h"
#include "model/formula/expression.h"

namespace mirrortrain {
namespace {

/// The activation of the model's output: "softmax", "sigmoid", ..., "linear" without one, empty where the output is
/// made of values that have some; and its layer.
struct LastActivation {
  std::string_view name = "linear";
  std::string layer;
  std::string_view before;  ///< the activation that it is applied to; empty if there is none between the weights and it
};

/// The activation that a node applies to each element or each example: "relu", "softmax"; else empty.
std::string_view activation_of(const Node& node) {
  if (const auto* activation = dynamic_cast<const ops::Activation*>(node.op.get())) {
    return ops::name_of(activation->kind);
  }
  return node.op->name() == "softmax" ? node.op->name() : std::string_view();
}

/// Whether a node changes or joins values without weights: what it gives may be anything that they are.
bool joins(const Node& node) {
  constexpr auto kNames = std::to_array<std::string_view>({"add_n", "scale", "select", "concatenate", "pointwise"});
  return std::ranges::count(kNames, node.op->name()) > 0 || dynamic_cast<const ops::Combine*>(node.op.get()) != nullptr;
}

bool passes_on(const Node& node) {
  return node.op->is_alias() || node.op->name() == "cast" || node.op->name() == "dropout";
}

/// Whether none of the values that a value is joined of has an activation. `seen`: values that were looked at.
bool has_no_activation(const Graph& made, ValueId value, std::set<ValueId>& seen) {
  if (value == kNoValue || made.value(value).producer < 0 || !seen.insert(value).second) return true;
  const Node& node = made.node(made.value(value).producer);
  if (!activation_of(node).empty()) return false;
  if (passes_on(node)) return has_no_activation(made, node.inputs[0], seen);
  if (!joins(node)) return true;
  return node.op->name() != "pointwise" &&
         std::ranges::all_of(node.inputs, [&](ValueId input) { return has_no_activation(made, input, seen); });
}

/// Skips nodes that do not change the values' meaning: reshapes, casts, dropout.
LastActivation last_activation(const Graph& made, ValueId output) {
  LastActivation last;
  bool is_found = false;
  for (NodeId id = made.value(output).producer; id >= 0;) {
    const Node& node = made.node(id);
    const bool passes = passes_on(node);
    const std::string_view activation = activation_of(node);
    if (is_found) {
      last.before = activation;
    } else {
      if (!passes || last.layer.empty()) last.layer = node.layer;
      std::set<ValueId> seen;
      if (!activation.empty()) last.name = activation;
      if (!passes && joins(node) && !has_no_activation(made, node.outputs[0], seen)) last.name = "";
    }
    if (!passes && (is_found || activation.empty())) break;
    is_found = is_found || !passes;
    id = made.value(node.inputs[0]).producer;
  }
  return last;
}

/// The activation of a layer that is a formula, which its nodes do not name; else empty.
std::string_view formula_activation(const Layer& layer) {
  return config::visit(
      [](const auto& options) -> std::string_view {
        if constexpr (requires { options.activation; }) {
          if (formula_of(options.activation)) return name_of(options.activation);
        }
        return {};
      },
      layer);
}

std::string loss_name(const Loss& loss) {
  return config::visit([](const auto& options) { return std::string(options.kName); }, loss);
}

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// An activation's range of values; nullopt if it has no relevant bound.
std::optional<std::pair<double, double>> range_of(std::string_view activation) {
  struct Range {
    std::string_view activation;
    double least, most;
  };
  constexpr auto kRanges = std::to_array<Range>({{"softmax", 0, 1},
                                                 {"sigmoid", 0, 1},
                                                 {"hard_sigmoid", 0, 1},
                                                 {"sparsemax", 0, 1},
                                                 {"sparse_sigmoid", 0, 1},
                                                 {"hard_tanh", -1, 1},
                                                 {"tanh", -1, 1},
                                                 {"softsign", -1, 1},
                                                 {"relu6", 0, 6},
                                                 {"relu", 0, kUnbounded},
                                                 {"softplus", 0, kUnbounded},
                                                 {"exponential", 0, kUnbounded}});
  const auto found = std::ranges::find(kRanges, activation, &Range::activation);
  return found != kRanges.end() ? std::optional(std::pair(found->least, found->most)) : std::nullopt;
}

std::string range_text(const std::pair<double, double>& range) {
  return range.second == kUnbounded ? fmt::format("above {:g}", range.first)
                                    : fmt::format("between {:g} and {:g}", range.first, range.second);
}

/// How a loss interprets the output.
enum class Wanted { kNumbers, kYesOrNo, kOneClass, kOther };

Wanted wanted_by(const Loss& loss) {
  const std::string name = loss_name(loss);
  if (config::holds_alternative<losses::Formula>(loss) || config::holds_alternative<losses::CategoricalHinge>(loss)) {
    return Wanted::kOther;
  }
  if (name.find("categorical") != std::string::npos) return Wanted::kOneClass;
  if (name.starts_with("binary")) return Wanted::kYesOrNo;
  return targets_of(loss) == Targets::kNumbers ? Wanted::kNumbers : Wanted::kOther;
}

/// The problem with the output for a loss that takes its logarithm, and the remedy; empty if there is none.
std::string outside_of_logarithm(const Loss& loss, std::string_view activation, bool one_output) {
  if (activation.empty()) return "";
  const std::string found = activation == "linear" ? std::string("the last layer has no activation")
                                                   : fmt::format("{} gives others too", activation);
  if (config::holds_alternative<losses::Poisson>(loss) && (activation == "linear" || activation == "tanh")) {
    return fmt::format(
        "poisson takes the logarithm of the output, which has to be above 0, but {}; add activation: "
        "exponential or softplus to the last layer",
        found);
  }
  if (config::holds_alternative<losses::KlDivergence>(loss) && activation != "softmax" && activation != "sigmoid") {
    return fmt::format("kl_divergence compares probabilities, and an output below 0 has no gradient, but {}; {}", found,
                       one_output ? "for one output take binary_crossentropy with activation: sigmoid in the last layer"
                                  : "add activation: softmax to the last layer");
  }
  return "";
}

bool has_logits_option(const Loss& loss) {
  return config::visit(
      [](const auto& options) {
        return requires { options.from_logits; };
      },
      loss);
}

/// The problem with the output for a loss of overlaps, which takes probabilities, and the remedy; empty if there is
/// none.
std::string no_overlap(const Loss& loss, std::string_view activation, bool one_output) {
  const bool is_overlap = config::visit(
      [](const auto& options) { return std::is_base_of_v<losses::Overlap, std::decay_t<decltype(options)>>; }, loss);
  constexpr auto kShares = std::to_array<std::string_view>({"", "softmax", "sigmoid", "hard_sigmoid"});
  if (!is_overlap || std::ranges::count(kShares, activation) > 0) return "";
  return fmt::format("{} takes the output for probabilities, but {}; add activation: {} to the last layer",
                     loss_name(loss),
                     activation == "linear" ? std::string("the last layer has no activation")
                                            : fmt::format("{} makes none", activation),
                     one_output ? "sigmoid" : "softmax, or sigmoid where classes overlap,");
}

/// The problem with the output for a crossentropy, and the remedy; empty if there is none. `loss_has_option`: whether
/// it can take logits.
std::string mismatch(Wanted wanted, bool from_logits, bool loss_has_option, std::string_view activation) {
  if (activation.empty()) return "";
  const bool probabilities = activation == "softmax" || activation == "sigmoid";
  const std::string_view right = wanted == Wanted::kOneClass ? "softmax" : "sigmoid";
  if (from_logits && probabilities) {
    return fmt::format(
        "from_logits is true, but {0} makes probabilities of the output, and would be applied twice; set "
        "from_logits: false, or remove the {0}",
        activation);
  }
  if (from_logits && activation == "relu") {
    return "from_logits is true, but relu makes every logit below 0 a 0; remove the relu";
  }
  if (const auto range = from_logits ? range_of(activation) : std::nullopt) {
    return fmt::format("from_logits is true, but {0} keeps every logit {1}; remove the {0}", activation,
                       range_text(*range));
  }
  const bool is_sparse = activation == (wanted == Wanted::kOneClass ? "sparsemax" : "sparse_sigmoid");
  if (from_logits || activation == right || is_sparse) return "";
  if (probabilities && wanted == Wanted::kOneClass) {
    return "sigmoid gives each class a probability of its own; use softmax where each example has one class, or "
           "binary_crossentropy where it may have several";
  }
  if (probabilities) {
    return "softmax makes the outputs of one example add up to 1; use sigmoid, or categorical_crossentropy";
  }
  return fmt::format("the loss takes the output for probabilities, but {}; {}add activation: {} to the last layer",
                     activation == "linear" ? std::string("the last layer has no activation")
                                            : fmt::format("{} makes none", activation),
                     loss_has_option ? "set from_logits: true, or " : "", right);
}

/// What restricts the last activation to a part of its range, and the remedy; empty if nothing does.
std::string applied_to_activation(const LastActivation& last) {
  const auto range = range_of(last.before);
  if ((last.name != "softmax" && last.name != "sigmoid") || !range) return "";
  return fmt::format("{0} is applied to the output of {1}, which is {2}; remove the {1}", last.name, last.before,
                     range_text(*range));
}

/// What prevents outputs below 0, which hinge losses need for one of the two classes; empty if nothing does.
std::string one_sided(const Loss& loss, std::string_view activation) {
  const auto range = range_of(activation);
  if (targets_of(loss) != Targets::kSigns || !range || range->first < 0) return "";
  return fmt::format(
      "{} wants outputs above 0 for one class and below 0 for the other, but {} keeps every output {}; use tanh, or "
      "no activation",
      loss_name(loss), activation, range_text(*range));
}

/// Null if it is none.
const metrics::FScore* f_score_of(const Metric& metric) {
  if (const auto* const f1 = config::get_if<metrics::F1Score>(&metric)) return f1;
  return config::get_if<metrics::FBetaScore>(&metric);
}

/// Whether a metric takes the class with the largest output, whatever the loss.
bool takes_one_class(const Metric& metric) {
  return config::visit(
      [](const auto& options) {
        using T = std::decay_t<decltype(options)>;
        return std::is_base_of_v<metrics::IouCommon, T> || std::is_same_v<T, metrics::TopKAccuracy> ||
               std::is_same_v<T, metrics::TopKCategoricalAccuracy> || std::is_same_v<T, metrics::CategoricalAccuracy>;
      },
      metric);
}

/// The problem with a metric for which only the largest output is predicted, and the remedy, if each output of the loss
/// is true or false independently; empty if there is none.
std::string takes_largest(const Metric& metric, const Loss& loss, const Shape& output) {
  if (wanted_by(loss) != Wanted::kYesOrNo || output.back() == 1) return "";
  const auto* const score = f_score_of(metric);
  const bool by_largest = score != nullptr ? !score->threshold : takes_one_class(metric);
  if (!by_largest) return "";
  return fmt::format(
      "{} takes the largest output of each example for right and the others for wrong, but with {} any "
      "number of them may be; {}",
      name_of(metric), loss_name(loss), score != nullptr ? "add threshold: 0.5" : "take f1_score with threshold: 0.5");
}

/// Whether a metric's own option says that the output is logits.
bool says_logits(const Metric& metric) {
  return config::visit(
      [](const auto& options) {
        if constexpr (requires { options.from_logits; }) {
          return std::optional<bool>(options.from_logits).value_or(false);
        }
        return false;
      },
      metric);
}

bool is_value(const formula::Expression& tree, std::string_view name) {
  using Kind = formula::Expression::Kind;
  return tree.kind == Kind::kIndex ? is_value(tree.arguments.front(), name)
                                   : tree.kind == Kind::kName && tree.name == name;
}

/// Whether a formula subtracts output and labels from each other as they are.
bool subtracts_labels(const formula::Expression& tree) {
  const auto& of = tree.arguments;
  const bool is_difference = tree.kind == formula::Expression::Kind::kCall && tree.name == "-" && of.size() == 2;
  if (is_difference && is_value(of[0], "y_true") && is_value(of[1], "y_pred")) return true;
  if (is_difference && is_value(of[0], "y_pred") && is_value(of[1], "y_true")) return true;
  return std::ranges::any_of(of, subtracts_labels);
}

/// The remedy for a metric of numbers that is given logits; empty if it may be meant for them, as a formula.
std::string remedy_of_logits(const Metric& metric, Wanted wanted) {
  const auto* const written = config::get_if<metrics::Formula>(&metric);
  if (written == nullptr) return "use accuracy";
  if (!formula::syntax_mistake(written->formula).empty() || !subtracts_labels(formula::parse(written->formula)))
    return "";
  return fmt::format("write {}(y_pred) in its place", wanted == Wanted::kOneClass ? "softmax" : "sigmoid");
}

}  // namespace

std::optional<std::pair<double, double>> output_range(const Graph& made, ValueId output) {
  return range_of(last_activation(made, output).name);
}

void check_loss_fit(const Graph& made, ValueId value, const ModelOptions& options, const Wiring& wiring,
                    std::size_t output_number, const Objective& objective, config::Errors& errors) {
  const config::Located<Loss>& loss = objective.loss;
  LastActivation last = last_activation(made, value);
  const auto found = static_cast<std::size_t>(std::ranges::find(wiring.names, last.layer) - wiring.names.begin());
  const config::Located<Layer>& layer =
      options.layers[found < wiring.names.size() ? found : wiring.outputs[output_number]];
  if (const std::string_view declared = formula_activation(layer.value); !declared.empty()) last.name = declared;
  const auto warn = [&](const std::string& message) {
    const std::string place = layer.place.text();
    errors.warn(loss.place, loss.path,
                fmt::format("{} (the layer: {}{})", message, place.empty() ? "" : place + ": ", layer.path));
  };
  const Wanted wanted = wanted_by(loss.value);
  const Shape& output = made.spec(value).shape;
  const bool from_logits = takes_logits(loss.value);

  const bool one_class = wanted == Wanted::kOneClass && output.back() == 1;
  if (one_class || (last.name == "softmax" && output.back() == 1)) {
    errors.add(layer.place, layer.path,
               one_class && last.name != "softmax"
                   ? fmt::format("{} over one output is always 0, so nothing is trained; use as many units as there "
                                 "are classes, or binary_crossentropy",
                                 loss_name(loss.value))
                   : "softmax over one output is always 1, so nothing is trained; use as many units as there are "
                     "classes, or sigmoid with binary_crossentropy");
    return;
  }
  if (config::holds_alternative<losses::CosineSimilarity>(loss.value) && output.back() == 1) {
    errors.add(
        layer.place, layer.path,
        "cosine_similarity over one output is -1 or 1 whatever its size, so nothing is trained; use more units, or "
        "mean_squared_error");
    return;
  }
  if (const std::string message = outside_of_logarithm(loss.value, last.name, output.back() == 1); !message.empty())
    warn(message);
  if (const std::string message = applied_to_activation(last); !message.empty()) {
    errors.warn(layer.place, layer.path, message);
  }
  if (config::holds_alternative<losses::Ctc>(loss.value) && (last.name == "softmax" || last.name == "sigmoid")) {
    warn(fmt::format("ctc takes logits, but {0} makes probabilities of the output; remove the {0}", last.name));
  }
  if (const std::string message = no_overlap(loss.value, last.name, output.back() == 1); !message.empty())
    warn(message);
  if (const std::string message = one_sided(loss.value, last.name); !message.empty()) warn(message);
  if (wanted == Wanted::kNumbers && last.name == "softmax") {
    warn(
        fmt::format("{} compares numbers, but softmax makes probabilities of classes; use categorical_crossentropy, or "
                    "remove the softmax",
                    loss_name(loss.value)));
  } else if (wanted == Wanted::kOneClass || wanted == Wanted::kYesOrNo) {
    if (const std::string message = mismatch(wanted, from_logits, has_logits_option(loss.value), last.name);
        !message.empty())
      warn(message);
  }

  if (const losses::ClassWeight* const weights = class_weight_of(loss.value); weights && !weights->empty()) {
    const bool is_sparse = targets_of(loss.value) == Targets::kClassNumbers;
    if (is_sparse ? output.rank() > 1 : output.elements() != output.back()) {
      errors.add(weights->weights.place, weights->weights.path,
                 fmt::format("expected one label for each example, found an output of {}; remove class_weight",
                             output.text()));
    } else {
      weights->check(std::max<std::int64_t>(2, output.back()), errors);
    }
  }
  for (const auto& metric : objective.metrics) {
    if (const std::string message = takes_largest(metric.value, loss.value, output); !message.empty()) {
      errors.warn(metric.place, metric.path, message);
    }
    const std::string_view name = name_of(metric.value);
    const Compares compares = compared_by(metric.value);
    const bool probabilities = last.name == "softmax" || last.name == "sigmoid";
    if (probabilities && says_logits(metric.value)) {
      errors.warn(
          metric.place, metric.path,
          fmt::format("from_logits is true, but {} makes probabilities of the output; leave it out", last.name));
    }
    const bool compares_numbers = wanted == Wanted::kNumbers || config::holds_alternative<losses::Formula>(loss.value);
    if (compares == Compares::kClasses && !takes_one_class(metric.value) && compares_numbers && !probabilities) {
      errors.warn(
          metric.place, metric.path,
          fmt::format(
              "{} compares classes, but {} trains numbers; take mean_absolute_error as the metric, or another loss",
              name, loss_name(loss.value)));
    } else if (compares == Compares::kNumbers && wanted != Wanted::kNumbers && from_logits) {
      const std::string remedy = remedy_of_logits(metric.value, wanted);
      if (remedy.empty()) continue;
      errors.warn(metric.place, metric.path,
                  fmt::format("{} compares the labels with logits, which are no probabilities; {}", name, remedy));
    }
  }
}

}  // namespace mirrortrain
