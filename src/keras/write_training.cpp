#include "keras/write_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "config/scalar.h"
#include "config/without_defaults.h"
#include "keras/class_names.h"
#include "keras/options.h"
#include "keras/to_json.h"

namespace mirrortrain::keras {
namespace {

using config::Value;

/// Of a choice's value: the options of its type, and this.
struct Chosen {
  std::string name;
  Value options;
  const config::Schema* type;
};

template <class Choice>
Chosen chosen(const Choice& choice) {
  const config::Schema& schema = schema_of<Choice>();
  Value value = config::Codec<Choice>::show(choice);
  Chosen result{"", Value::mapping({}), nullptr};
  if (value.is_scalar()) {
    result.name = value.text();
  } else if (!schema.tag.empty()) {
    result.name = value.find(schema.tag)->value.text();
    result.options = std::move(value);
  } else {
    result.name = value.entries().front().key;
    result.options = value.entries().front().value;
  }
  result.type = &*std::ranges::find(schema.parts, result.name, &config::Schema::name);
  return result;
}

Json loss_json(const Loss& loss, const std::string& where, Problems& problems, std::vector<std::string>& remarks) {
  const Chosen of = chosen(loss);
  const std::string class_name = class_named(of.name);
  if (class_name.empty()) {
    problems.add(where, fmt::format("{} does not exist in Keras", of.name));
    return nullptr;
  }
  if (const auto* const weights = class_weight_of(loss); weights != nullptr && !weights->empty()) {
    remarks.push_back(
        fmt::format("{}: class_weight is an argument of Keras's fit, to which it has to be given", where));
  }
  Json options =
      options_json(of.options, *of.type, where, problems, {"type", "weight", "class_weight", "label_length"});
  return object_json("keras.losses", class_name, std::move(options));
}

/// A threshold of probabilities as one of logits.
Json of_logits(const Json& threshold) {
  if (threshold.is_array()) {
    Json list = Json::array();
    for (const Json& one : threshold) list.push_back(of_logits(one));
    return list;
  }
  const double probability = threshold.is_number() ? threshold.get<double>() : 0.5;
  return probability == 0.5 ? 0.0 : std::clamp(std::log(probability) - std::log1p(-probability), -1e30, 1e30);
}

/// Names of classes: options of Keras's metrics that say that they are given logits, which here the loss says.
void add_logits(const std::string& name, Json& options) {
  constexpr std::array kThreshold = {"precision",      "recall",          "true_positives",
                                     "true_negatives", "false_positives", "false_negatives"};
  constexpr std::array kFromLogits = {"auc", "binary_crossentropy", "categorical_crossentropy",
                                      "sparse_categorical_crossentropy"};
  if (std::ranges::count(kFromLogits, name) > 0) options["from_logits"] = true;
  if (std::ranges::count(kThreshold, name) > 0) options["thresholds"] = of_logits(at(options, "thresholds"));
  if (name == "binary_accuracy") options["threshold"] = of_logits(at(options, "threshold"));
}

/// What Keras requires, where it is known here from the output, or is another default. `classes`: of the
/// output.
void add_known(const std::string& name, std::int64_t classes, bool of_numbers, Json& options) {
  const bool is_iou = name == "iou" || name == "mean_iou" || name == "one_hot_iou" || name == "one_hot_mean_iou";
  if (is_iou && !options.contains("num_classes")) options["num_classes"] = std::max<std::int64_t>(classes, 2);
  if (name == "iou" || name == "mean_iou") {
    if (!options.contains("sparse_y_true")) options["sparse_y_true"] = of_numbers;
    if (!options.contains("sparse_y_pred")) options["sparse_y_pred"] = false;
  }
  if ((name == "f1_score" || name == "fbeta_score") && !options.contains("average")) options["average"] = "macro";
  if (options.contains("threshold") && (name == "precision" || name == "recall")) {
    options["thresholds"] = options["threshold"];
    options.erase("threshold");
  }
}

Json metric_json(const Metric& metric, const Loss& loss, std::int64_t classes, const std::string& where,
                 Problems& problems) {
  const Chosen of = chosen(metric);
  const bool are_logits = takes_logits(loss), of_numbers = targets_of(loss) == Targets::kClassNumbers;
  const bool is_binary = config::holds_alternative<losses::BinaryCrossentropy>(loss) ||
                         config::holds_alternative<losses::BinaryFocalCrossentropy>(loss);
  if (of.name == "accuracy" && !(is_binary && are_logits)) return "accuracy";
  std::string name = of.name == "accuracy" ? "binary_accuracy" : of.name;
  if (name == "top_k_accuracy") name = of_numbers ? "sparse_top_k_categorical_accuracy" : "top_k_categorical_accuracy";
  const std::string class_name = class_named(name);
  if (class_name.empty()) {
    problems.add(where, fmt::format("{} does not exist in Keras", of.name));
    return nullptr;
  }
  Json options = options_json(of.options, *of.type, where, problems);
  add_known(name, classes, of_numbers, options);
  if (are_logits) add_logits(name, options);
  if (name != of.name) options["name"] = of.name;
  return object_json("keras.metrics", class_name, std::move(options));
}

Json optimizer_json(const KerasExport& what, Problems& problems) {
  if (what.optimizer->all.size() != 1) {
    problems.add("optimizer", "is a list of several, and a model of Keras's has one");
    return nullptr;
  }
  const Chosen of = chosen(what.optimizer->all.front());
  const std::string class_name = class_named(of.name);
  if (class_name.empty()) {
    problems.add("optimizer", fmt::format("{} does not exist in Keras", of.name));
    return nullptr;
  }
  for (const char* const list : {"exclude_from_weight_decay", "learning_rate_factors"}) {
    const Value::Entry* const given = of.options.find(list);
    if (given != nullptr && given->value.is_sequence() && !given->value.items().empty()) {
      problems.add("optimizer", fmt::format("{} is nothing that Keras saves", list));
    }
  }
  if (const Value::Entry* const match = of.options.find("match"); match != nullptr && !match->value.is_null()) {
    problems.add("optimizer", "match leaves variables out, as nothing that Keras saves does");
  }
  Json options = options_json(of.options, *of.type, "optimizer", problems,
                              {"type", "match", "exclude_from_weight_decay", "learning_rate_factors"});
  if (what.gradients.clip_norm) options["global_clipnorm"] = *what.gradients.clip_norm;
  if (what.gradients.clip_value) options["clipvalue"] = *what.gradients.clip_value;
  if (what.gradients.accumulate_steps > 1) options["gradient_accumulation_steps"] = what.gradients.accumulate_steps;
  if (!options.contains("learning_rate")) {
    options["learning_rate"] = to_json(config::Codec<LearningRate>::show(learning_rate_of(what.optimizer->all.front())),
                                       schema_of<LearningRate>(), "optimizer", problems);
  }
  Json& rate = options["learning_rate"];
  if (rate.is_number()) rate = rate.get<double>();  // 1 is no rate to Keras, and 1.0 is
  return object_json("keras.optimizers", class_name, std::move(options));
}

}  // namespace

Json compile_json(const KerasExport& what, Problems& problems, std::vector<std::string>& remarks) {
  if (what.optimizer == nullptr) return nullptr;
  Json losses = Json::array(), weights = Json::array(), metrics = Json::array();
  bool any_metric = false;
  for (std::size_t i = 0; i < what.objectives.size(); ++i) {
    const Objective& objective = what.objectives[i];
    const std::string of = what.objectives.size() == 1 ? "" : fmt::format(" of '{}'", what.wiring.output_name(i));
    losses.push_back(loss_json(objective.loss.value, "loss" + of, problems, remarks));
    weights.push_back(what.built.outputs[i].loss_weight);
    const ValueId output = what.built.evaluation.outputs[i].value;
    const Shape shape = output == kNoValue ? Shape() : what.built.evaluation.graph.spec(output).shape;
    const std::int64_t classes = shape.rank() == 0 ? 1 : shape.back();
    Json of_output = Json::array();
    for (const auto& metric : objective.metrics) {
      of_output.push_back(metric_json(metric.value, objective.loss.value, classes, "metrics" + of, problems));
    }
    any_metric = any_metric || !of_output.empty();
    metrics.push_back(std::move(of_output));
  }
  const bool is_one = losses.size() == 1;
  const bool is_weighted = std::ranges::any_of(weights, [](const Json& weight) { return weight != Json(1.0); });
  return {{"optimizer", optimizer_json(what, problems)},
          {"loss", is_one ? losses[0] : losses},
          {"loss_weights", is_weighted ? weights : Json(nullptr)},
          {"metrics", !any_metric ? Json(nullptr)
                      : is_one    ? metrics[0]
                                  : metrics},
          {"weighted_metrics", nullptr},
          {"run_eagerly", false},
          {"steps_per_execution", 1},
          {"jit_compile", false}};
}

}  // namespace mirrortrain::keras
