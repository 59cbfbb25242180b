#include "keras/convert_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/utf8.h"
#include "config/names.h"
#include "config/scalar.h"
#include "keras/options.h"
#include "model/objective.h"
#include "model/optimizers.h"

namespace mirrortrain::keras {
namespace {

using config::Value;
using Entries = std::vector<Value::Entry>;

/// What `compile` takes as one, a list by the outputs' order or a mapping by their names: one for each output, null's
/// where it has none.
class PerOutput {
 public:
  PerOutput(const Json& given, const std::vector<std::string>& outputs,
            const std::map<std::string, std::string>& output_names, bool is_list_itself) {
    of_.resize(outputs.size());
    const Json& list = as_list(given);
    if (given.is_object() && !as_object(given)) {
      for (const auto& [name, value] : given.items()) {
        const auto known = output_names.find(name);
        const std::string here = known != output_names.end() ? known->second : name;
        const auto output = std::ranges::find(outputs, here);
        if (output == outputs.end()) {
          unknown_.push_back(name);
        } else {
          of_[static_cast<std::size_t>(output - outputs.begin())] = value;
        }
      }
    } else if (list.is_array() && !is_list_itself) {
      for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), of_.size()); ++i) of_[i] = list[i];
    } else if (!given.is_null()) {
      for (Json& one : of_) one = given;
    }
  }

  const Json& of(std::size_t output) const { return of_[output]; }
  const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  std::vector<Json> of_;
  std::vector<std::string> unknown_;
};

/// {type: huber, delta: 2} of a class, or of a name.
Value convert_loss(const Json& loss, const Json& weight, const OptionPlace& place) {
  const auto object = as_object(loss);
  const std::string name =
      object ? (object->class_name == "function" && object->config->is_string() ? object->config->get<std::string>()
                                                                                : object->class_name)
      : loss.is_string() ? loss.get<std::string>()
                         : "";
  const config::Schema& schema = schema_of<Loss>();
  const config::Schema* const type = type_named(schema, name);
  if (type == nullptr) {
    place.problems.add(
        place.where,
        fmt::format("the loss '{}' does not exist here{}; a loss of your own can be a formula "
                    "(docs/formulas.md)",
                    name.empty() ? described(loss) : shortened(name), config::advice_on(name, schema.advice)));
    return Value();
  }
  Entries options = {{schema.tag, {}, config::text_value(type->name)}};
  if (object && object->config->is_object()) {
    for (Value::Entry& entry : converted_options(*object->config, *type, place)) options.push_back(std::move(entry));
  }
  if (weight.is_number() && weight != Json(1.0)) options.push_back({"weight", {}, plain_value(weight)});
  Loss read;
  return checked<Loss>(Value::mapping(std::move(options)), place, read);
}

/// A threshold of logits, which Keras's metrics compare as they are, as one of the probabilities that are compared
/// here.
Value of_probability(const Value& threshold) {
  if (threshold.is_sequence()) {
    std::vector<Value> items;
    for (const Value& item : threshold.items()) items.push_back(of_probability(item));
    return Value::sequence(std::move(items));
  }
  const auto logit = config::as_number(threshold);
  return logit ? config::number_value(static_cast<float>(1 / (1 + std::exp(-*logit)))) : threshold;
}

/// Thresholds of a metric of logits.
void convert_thresholds(const config::Schema& type, const std::string& name, Entries& options,
                        std::vector<std::string>& remarks) {
  const auto is_threshold = [](const std::string& key) { return key == "threshold" || key == "thresholds"; };
  bool is_given = false;
  for (Value::Entry& option : options) {
    if (!is_threshold(option.key) || option.value.is_null()) continue;
    option.value = of_probability(option.value);
    is_given = true;
  }
  const bool has_one = std::ranges::any_of(type.keys, [&](const auto& key) { return is_threshold(key.name); });
  if (is_given || !(has_one || type.name == "accuracy")) return;
  remarks.push_back(fmt::format(
      "the metric '{}' compares logits with 0.5 in Keras; here probabilities, of which 0.6225 is that logit",
      shortened(name)));
}

/// nullopt for what every run reports anyway, and after a problem.
/// `of_logits`: whether the output's loss says that it is logits, as it then does for metrics too.
std::optional<Value> convert_metric(const Json& metric, bool of_logits, bool are_binary, const OptionPlace& place,
                                    std::vector<std::string>& remarks) {
  const auto object = as_object(metric);
  std::string name = object ? object->class_name : metric.is_string() ? metric.get<std::string>() : "";
  if (name == "function" || name == "MeanMetricWrapper") {
    const Json& fn = object->class_name == "function" ? metric : at(*object->config, "fn");
    name = fn.is_string() ? fn.get<std::string>() : text_at(fn, "config");
  }
  if (name == "loss") return std::nullopt;
  const config::Schema& schema = schema_of<Metric>();
  const config::Schema* const type = type_named(schema, name);
  if (type == nullptr) {
    const std::string advice = config::advice_on(name, config::detail::choice_of<Metric>().advice);
    if (!advice.empty()) {
      remarks.push_back(fmt::format("the metric '{}' was left out{}", shortened(name), advice));
      return std::nullopt;
    }
    place.problems.add(place.where, fmt::format("the metric '{}' does not exist here; one of your own can be a formula "
                                                "(docs/formulas.md)",
                                                name.empty() ? described(metric) : shortened(name)));
    return std::nullopt;
  }
  Entries options;
  if (object && object->config->is_object())
    options = converted_options(*object->config, *type, place, {"fn", of_logits ? "from_logits" : "fn"});
  if (of_logits && are_binary) convert_thresholds(*type, name, options, remarks);
  Metric read;
  const Value value = options.empty() ? config::text_value(type->name)
                                      : Value::mapping({{type->name, {}, Value::mapping(std::move(options))}});
  return checked<Metric>(value, place, read);
}

Value list_of_metrics(const Json& metrics, bool of_logits, bool are_binary, const OptionPlace& place,
                      std::vector<std::string>& remarks) {
  std::vector<Value> items;
  const Json& list = as_list(metrics);
  const Json one = Json::array({metrics});
  if (metrics.is_null()) return Value::sequence({});
  for (const Json& metric : list.is_array() ? list : one) {
    if (metric.is_null()) continue;
    if (auto value = convert_metric(metric, of_logits, are_binary, place, remarks)) items.push_back(std::move(*value));
  }
  return Value::sequence(std::move(items));
}

/// Options of losses that Keras 3 does not save.
void note_unsaved(const Json& loss, std::vector<std::string>& remarks) {
  const auto object = as_object(loss);
  for (const auto& [name, option] : {std::pair("Huber", "delta"), std::pair("CosineSimilarity", "axis")}) {
    if (!object || object->class_name != name || object->config->contains(option)) continue;
    remarks.push_back(fmt::format("Keras does not save the {} of {}: if it was not the default, add it", option, name));
  }
}

void add_losses(const Json& compiled, const std::vector<std::string>& outputs,
                const std::map<std::string, std::string>& names, Problems& problems, ConvertedTraining& result) {
  const Json& given = at(compiled, "loss");
  if (given.is_null()) return;
  const OptionPlace place{problems, "compiled loss"};
  const PerOutput losses(given, outputs, names, false), weights(at(compiled, "loss_weights"), outputs, names, false);
  for (const std::string& name : losses.unknown()) {
    problems.add(place.where, fmt::format("'{}' is no output of the model", shortened(name)));
  }
  Entries entries;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    note_unsaved(losses.of(i), result.remarks);
    if (losses.of(i).is_null()) {
      problems.add(place.where,
                   fmt::format("the output '{}' has none; here each output has one, of weight: 0 where it does "
                               "not count",
                               shortened(outputs[i])));
      continue;
    }
    entries.push_back({outputs[i], {}, convert_loss(losses.of(i), weights.of(i), place)});
  }
  if (entries.empty()) return;
  result.loss = outputs.size() == 1 ? std::move(entries.front().value) : Value::mapping(std::move(entries));
}

void add_metrics(const Json& compiled, const std::vector<std::string>& outputs,
                 const std::map<std::string, std::string>& names, Problems& problems, ConvertedTraining& result) {
  const Json& given = at(compiled, "metrics");
  if (!at(compiled, "weighted_metrics").is_null() && !at(compiled, "weighted_metrics").empty()) {
    result.remarks.push_back("weighted_metrics were left out: metrics here weigh all examples alike");
  }
  if (given.is_null() || given.empty()) return;
  const OptionPlace place{problems, "compiled metrics"};
  const bool is_flat = outputs.size() == 1 && !(given.is_array() && given.size() == 1 && given[0].is_array());
  const PerOutput metrics(given, outputs, names, is_flat), losses(at(compiled, "loss"), outputs, names, false);
  Entries entries;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool of_logits = at(at(losses.of(i), "config"), "from_logits") == Json(true);
    const bool are_binary = text_at(losses.of(i), "class_name").starts_with("Binary");
    Value list = list_of_metrics(metrics.of(i), of_logits, are_binary, place, result.remarks);
    if (!list.items().empty()) entries.push_back({outputs[i], {}, std::move(list)});
  }
  if (entries.empty()) return;
  result.metrics = outputs.size() == 1 ? std::move(entries.front().value) : Value::mapping(std::move(entries));
}

void add_optimizer(const Json& compiled, Problems& problems, ConvertedTraining& result) {
  const Json& given = at(compiled, "optimizer");
  auto object = as_object(given);
  std::string name = object ? object->class_name : given.is_string() ? given.get<std::string>() : "";
  if (name.empty()) return;
  const Json* config = object ? object->config : &given;
  if (name == "LossScaleOptimizer") {
    const auto inner = as_object(at(*config, "inner_optimizer"));
    if (inner) name = inner->class_name, config = inner->config;
  }
  const OptionPlace place{problems, fmt::format("compiled optimizer ({})", shortened(name))};
  const config::Schema& schema = schema_of<Optimizer>();
  const config::Schema* const type = type_named(schema, name);
  if (type == nullptr) {
    const std::string advice = config::advice_on(name, config::detail::choice_of<Optimizer>().advice);
    return problems.add(place.where, "no such optimizer exists here" + advice);
  }
  Entries options = {{schema.tag, {}, config::text_value(type->name)}};
  std::vector<std::string_view> taken = {"global_clipnorm", "clipvalue", "gradient_accumulation_steps"};
  if (at(*config, "use_ema") != Json(true)) {  // they say nothing without it
    taken.push_back("ema_momentum");
    taken.push_back("ema_overwrite_frequency");
  }
  for (Value::Entry& entry : converted_options(*config, *type, place, taken)) options.push_back(std::move(entry));
  Optimizer read;
  result.optimizer = checked<Optimizer>(Value::mapping(std::move(options)), place, read);
  Entries gradients;
  const auto add = [&](const char* theirs, const char* ours) {
    const Json& value = at(*config, theirs);
    if (!value.is_null()) gradients.push_back({ours, {}, plain_value(value)});
  };
  add("global_clipnorm", "clip_norm");
  add("clipvalue", "clip_value");
  add("gradient_accumulation_steps", "accumulate_steps");
  if (!gradients.empty()) result.gradients = Value::mapping(std::move(gradients));
}

}  // namespace

ConvertedTraining convert_training(const Json& compiled, const std::vector<std::string>& outputs,
                                   const std::map<std::string, std::string>& output_names, Problems& problems) {
  ConvertedTraining result;
  add_losses(compiled, outputs, output_names, problems, result);
  add_metrics(compiled, outputs, output_names, problems, result);
  add_optimizer(compiled, problems, result);
  return result;
}

}  // namespace mirrortrain::keras
