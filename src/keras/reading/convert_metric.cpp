#include "keras/reading/convert_metric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "config/names.h"
#include "config/scalar.h"
#include "keras/metric_output.h"
#include "model/metrics.h"

namespace mirrortrain::keras {
namespace {

using config::Value;
using Entries = std::vector<Value::Entry>;

constexpr double kUsualThreshold = 0.5;  // of Keras's metrics that have one

/// A metric as it is being converted, with the reason for which no figure here is its own.
struct Converting {
  std::string type;  ///< here
  Entries options;
  std::string changed, left_out;

  Value::Entry* find(std::string_view key) {
    const auto found = std::ranges::find(options, key, &Value::Entry::key);
    return found != options.end() && !found->value.is_null() ? &*found : nullptr;
  }
  void set(const std::string& key, Value value) {
    std::erase_if(options, [&](const Value::Entry& entry) { return entry.key == key; });
    options.push_back({key, {}, std::move(value)});
  }
};

/// A threshold of logits as one of the probabilities that a sigmoid makes of them.
Value of_probability(const Value& threshold) {
  if (threshold.is_sequence()) {
    std::vector<Value> items;
    for (const Value& item : threshold.items()) items.push_back(of_probability(item));
    return Value::sequence(std::move(items));
  }
  const auto logit = config::as_number(threshold);
  return logit ? config::number_value(static_cast<float>(1 / (1 + std::exp(-*logit)))) : threshold;
}

/// What Keras makes of "accuracy", which depends on the output's shape alone.
void convert_accuracy(Converting& metric, const MetricOutput& output, OutputSeen seen) {
  if (output.width == 0 || !output.loss) return;
  if (output.width == 1 && seen != OutputSeen::kAsItIs) {
    metric.type = "binary_accuracy";  // of a threshold of its own
  } else if (output.width > 1 && (seen == OutputSeen::kBySign || ops::is_binary(loss_op(*output.loss).kind))) {
    metric.type = "categorical_accuracy";
    metric.changed =
        "is categorical accuracy in Keras, as the output has several numbers, though each of them is true "
        "or false by itself; binary_accuracy counts these";
  }
}

/// Of what has one threshold, named `key`; without one, Keras's is `usual`, or the largest outputs are taken.
void convert_threshold(Converting& metric, const std::string& key, std::optional<double> usual, OutputSeen seen) {
  Value::Entry* const given = metric.find(key);
  if (given == nullptr && !usual) return;
  switch (seen) {
    case OutputSeen::kAsItIs: return;
    case OutputSeen::kBySign:  // 0 is usual here
      if (given == nullptr) metric.set(key, config::number_value(*usual));
      return;
    case OutputSeen::kThroughSoftmax:
      metric.left_out = "Keras compares each logit with a threshold, which is none of a softmax's probabilities";
      return;
    case OutputSeen::kThroughSigmoid: break;
  }
  const Value here = of_probability(given != nullptr ? given->value : config::number_value(*usual));
  metric.set(key, here);
  metric.changed = fmt::format("compares logits with {} in Keras, which is a probability of {} here",
                               given != nullptr ? "its threshold" : "0.5", config::flow_text(here, 60));
}

void convert_f_score(Converting& metric, const MetricOutput& output, OutputSeen seen) {
  if (metric.find("threshold") != nullptr || output.width != 1)
    return convert_threshold(metric, "threshold", std::nullopt, seen);
  // The largest of one number is that number: Keras predicts true whatever it is.
  const bool are_probabilities = output.loss && ops::is_binary(loss_op(*output.loss).kind);
  if (!are_probabilities) {
    metric.left_out = "without a threshold Keras takes a single output for true whatever it is; give it a threshold";
    return;
  }
  metric.set("threshold", config::number_value(0.0));
  metric.changed = "has no threshold, with which Keras takes a single output for true whatever it is";
}

/// `options`: of Keras's.
void convert_auc(Converting& metric, OutputSeen seen) {
  const Value::Entry* const from_logits = metric.find("from_logits");
  const bool is_of_sigmoid = from_logits != nullptr && from_logits->value.text() == "true";
  if (seen == OutputSeen::kThroughSoftmax) {
    metric.left_out = is_of_sigmoid
                          ? "Keras's from_logits is a sigmoid of each logit, while probabilities here are a softmax's"
                          : "Keras compares logits with thresholds from 0 to 1";
  } else if (seen == OutputSeen::kThroughSigmoid && !is_of_sigmoid) {
    metric.left_out =
        "without from_logits Keras compares logits with thresholds from 0 to 1; write auc, which is that "
        "of probabilities";
  } else if (seen == OutputSeen::kThroughSigmoid) {
    std::erase_if(metric.options, [](const Value::Entry& entry) { return entry.key == "from_logits"; });
  }
}

void convert_sides(Converting& metric, OutputSeen seen) {
  if (metric.type != "binary_accuracy" || seen != OutputSeen::kBySign)
    return convert_threshold(metric, "threshold", kUsualThreshold, seen);
  const Value::Entry* const given = metric.find("threshold");
  const double threshold = given != nullptr ? config::as_number(given->value).value_or(0) : kUsualThreshold;
  if (threshold != 0) {
    metric.left_out = fmt::format(
        "Keras compares the output of a hinge loss with {:g}, and here its sign counts; write "
        "accuracy, which is that of signs",
        threshold);
    return;
  }
  metric.options.clear();
  metric.changed = "is that of signs; labels of -1, which count as 0 here, are never right in Keras";
}

/// Makes the options those that have Keras's figure, or says why there are none.
void keep_figure(Converting& metric, const MetricOutput& output) {
  const OutputSeen seen = output_seen(output.loss);
  const bool are_logits = seen == OutputSeen::kThroughSigmoid || seen == OutputSeen::kThroughSoftmax;
  if (metric.type == "accuracy") convert_accuracy(metric, output, seen);
  switch (metric_kind(metric.type)) {
    case MetricKind::kCounts: {
      const bool takes_largest = metric.find("top_k") != nullptr;
      return convert_threshold(metric, "thresholds", takes_largest ? std::nullopt : std::optional(kUsualThreshold),
                               seen);
    }
    case MetricKind::kSides: return convert_sides(metric, seen);
    case MetricKind::kFScores: return convert_f_score(metric, output, seen);
    case MetricKind::kAuc: return convert_auc(metric, seen);
    case MetricKind::kAtBound:
      if (are_logits) metric.left_out = "Keras compares logits with thresholds from 0 to 1";
      return;
    case MetricKind::kDivergence:
      if (are_logits) metric.left_out = "Keras takes logits for probabilities, which are made of them here";
      return;
    case MetricKind::kCrossentropies:  // without the option, here the loss says it
      if (are_logits && metric.find("from_logits") == nullptr) {
        metric.set("from_logits", Value::scalar("false", false));
        metric.changed = "takes logits for probabilities in Keras, as it has no from_logits: true";
      }
      return;
    case MetricKind::kOther: return;
  }
}

/// The name that Keras saved: a class, a function or, in older files, a function in an object.
std::string name_of_metric(const Json& metric) {
  const auto object = as_object(metric);
  const std::string name = object ? object->class_name : metric.is_string() ? metric.get<std::string>() : "";
  if (name != "function" && name != "MeanMetricWrapper") return name;
  const Json& fn = name == "function" ? metric : at(*object->config, "fn");
  return fn.is_string() ? fn.get<std::string>() : text_at(fn, "config");
}

/// nullopt for what every run reports anyway, what is left out, and after a problem.
std::optional<Value> convert_metric(const Json& metric, const MetricOutput& output, const OptionPlace& place,
                                    MetricNotes& notes) {
  const auto object = as_object(metric);
  const std::string name = name_of_metric(metric);
  if (name == "loss") return std::nullopt;
  const auto leave_out = [&](const std::string& why) {
    notes.left_out.push_back(fmt::format("the metric '{}' was left out{}", shortened(name), why));
    return std::nullopt;
  };
  const config::Schema* const type = type_named(schema_of<Metric>(), name);
  if (type == nullptr) {
    const std::string advice = config::advice_on(name, config::detail::choice_of<Metric>().advice);
    if (!advice.empty()) return leave_out(advice);
    place.problems.add(place.where, fmt::format("the metric '{}' does not exist here; one of your own can be a formula "
                                                "(docs/formulas.md)",
                                                name.empty() ? described(metric) : shortened(name)));
    return std::nullopt;
  }
  if (name == "Accuracy") {  // the class, and not what compile makes of the word
    return leave_out(": the class counts outputs that are the label itself, as no probability is; write accuracy");
  }
  Problems own;
  const OptionPlace here{own, ""};
  Converting converting{type->name, {}, "", ""};
  if (object && object->config->is_object())
    converting.options = converted_options(*object->config, *type, here, {"fn"});
  keep_figure(converting, output);
  if (!converting.left_out.empty()) return leave_out(": " + converting.left_out);
  const Value value = converting.options.empty()
                          ? config::text_value(converting.type)
                          : Value::mapping({{converting.type, {}, Value::mapping(std::move(converting.options))}});
  Metric read;
  Value result = checked<Metric>(value, here, read);
  if (!own.empty()) return leave_out(fmt::format(": {}", fmt::join(own.lines(), "; ")));
  if (!converting.changed.empty())
    notes.changed.push_back(fmt::format("the metric '{}' {}", shortened(name), converting.changed));
  return result;
}

}  // namespace

Value convert_metrics(const Json& metrics, const MetricOutput& output, const OptionPlace& place, MetricNotes notes) {
  std::vector<Value> items;
  if (metrics.is_null()) return Value::sequence({});
  const Json& list = as_list(metrics);
  const Json one = Json::array({metrics});
  for (const Json& metric : list.is_array() ? list : one) {
    if (metric.is_null()) continue;
    if (auto value = convert_metric(metric, output, place, notes)) items.push_back(std::move(*value));
  }
  return Value::sequence(std::move(items));
}

}  // namespace mirrortrain::keras
