#include "keras/reading/convert_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "config/names.h"
#include "config/scalar.h"
#include "keras/options.h"
#include "keras/reading/convert_metric.h"
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

/// A loss as a value of the configuration, and as what it is; none after a problem.
struct ConvertedLoss {
  Value value;
  std::optional<Loss> read;
};

/// {type: huber, delta: 2} of a class, or of a name.
ConvertedLoss convert_loss(const Json& loss, const Json& weight, const OptionPlace& place) {
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
    return {};
  }
  Entries options = {{schema.tag, {}, config::text_value(type->name)}};
  if (object && object->config->is_object()) {
    for (Value::Entry& entry : converted_options(*object->config, *type, place)) options.push_back(std::move(entry));
  }
  // Keras takes it from the labels; of one symbol there are labels for any output.
  if (type->name == losses::Ctc::kName) options.push_back({"label_length", {}, Value::scalar("1", false)});
  if (weight.is_number() && weight != Json(1.0)) options.push_back({"weight", {}, plain_value(weight)});
  const std::size_t before = place.problems.count();
  Loss read;
  Value value = checked<Loss>(Value::mapping(std::move(options)), place, read);
  return {std::move(value), place.problems.count() == before ? std::optional(read) : std::nullopt};
}

/// Options of losses that Keras 3 does not save.
void note_unsaved(const Json& loss, std::vector<std::string>& remarks) {
  const auto object = as_object(loss);
  for (const auto& [name, option] : {std::pair("Huber", "delta"), std::pair("CosineSimilarity", "axis")}) {
    if (!object || object->class_name != name || object->config->contains(option)) continue;
    remarks.push_back(fmt::format("Keras does not save the {} of {}: if it was not the default, add it", option, name));
  }
}

/// Returns the loss of each output; none where there is none, and after a problem.
std::vector<std::optional<Loss>> add_losses(const Json& compiled, const std::vector<std::string>& outputs,
                                            const std::map<std::string, std::string>& names, Problems& problems,
                                            ConvertedTraining& result) {
  std::vector<std::optional<Loss>> all(outputs.size());
  const Json& given = at(compiled, "loss");
  if (given.is_null()) return all;
  const OptionPlace place{problems, "compiled loss"};
  const PerOutput losses(given, outputs, names, false), weights(at(compiled, "loss_weights"), outputs, names, false);
  for (const std::string& name : losses.unknown()) {
    problems.add(place.where, fmt::format("'{}' is no output of the model", shortened(name)));
  }
  Entries entries;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    note_unsaved(losses.of(i), result.remarks);
    if (losses.of(i).is_null()) {  // here each output has one
      entries.push_back({outputs[i],
                         {},
                         Value::mapping({{schema_of<Loss>().tag, {}, config::text_value("mean_squared_error")},
                                         {"weight", {}, Value::scalar("0", false)}})});
      result.warnings.push_back(
          fmt::format("the output '{}' has no loss in Keras, and one of weight 0 here, which trains nothing: give it "
                      "labels of the output's shape, such as zeros",
                      shortened(outputs[i])));
      continue;
    }
    ConvertedLoss loss = convert_loss(losses.of(i), weights.of(i), place);
    if (loss.read && config::holds_alternative<losses::Ctc>(*loss.read)) {
      result.warnings.push_back(
          "how long labels are is not in the file: write the most symbols of yours as label_length of the loss ctc");
    }
    entries.push_back({outputs[i], {}, std::move(loss.value)});
    all[i] = std::move(loss.read);
  }
  if (entries.empty()) return all;
  result.loss = outputs.size() == 1 ? std::move(entries.front().value) : Value::mapping(std::move(entries));
  return all;
}

void add_metrics(const Json& compiled, const std::vector<std::string>& outputs,
                 const std::map<std::string, std::string>& names, const std::vector<MetricOutput>& of_outputs,
                 Problems& problems, ConvertedTraining& result) {
  const Json& given = at(compiled, "metrics");
  if (!at(compiled, "weighted_metrics").is_null() && !at(compiled, "weighted_metrics").empty()) {
    result.warnings.push_back("weighted_metrics were left out: metrics here weigh all examples alike");
  }
  if (given.is_null() || given.empty()) return;
  const OptionPlace place{problems, "compiled metrics"};
  const bool is_flat = outputs.size() == 1 && !(given.is_array() && given.size() == 1 && given[0].is_array());
  const PerOutput metrics(given, outputs, names, is_flat);
  Entries entries;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Value list = convert_metrics(metrics.of(i), of_outputs[i], place, {result.remarks, result.warnings});
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
                                   const std::map<std::string, std::string>& output_names, Problems& problems,
                                   const std::vector<Shape>& shapes) {
  ConvertedTraining result;
  const std::vector<std::optional<Loss>> losses = add_losses(compiled, outputs, output_names, problems, result);
  std::vector<MetricOutput> of_outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    of_outputs.push_back({losses[i], i < shapes.size() && shapes[i].rank() > 0 ? shapes[i].back() : 0});
  }
  add_metrics(compiled, outputs, output_names, of_outputs, problems, result);
  add_optimizer(compiled, problems, result);
  return result;
}

}  // namespace mirrortrain::keras
