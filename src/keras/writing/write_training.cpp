#include "keras/writing/write_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "keras/class_names.h"
#include "keras/options.h"
#include "keras/writing/chosen_options.h"
#include "keras/writing/to_json.h"
#include "keras/writing/write_metric.h"

namespace mirrortrain::keras {
namespace {

using config::Value;

Json loss_json(const Loss& loss, const std::string& where, Problems& problems, std::vector<std::string>& remarks) {
  const Chosen of = chosen_options(loss);
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

Json optimizer_json(const KerasExport& what, Problems& problems) {
  if (what.optimizer->all.size() != 1) {
    problems.add("optimizer", "is a list of several, and a model of Keras's has one");
    return nullptr;
  }
  const Chosen of = chosen_options(what.optimizer->all.front());
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
    const std::int64_t width = shape.rank() == 0 ? 1 : shape.back();
    Json of_output = Json::array();
    std::map<std::string_view, int> listed;
    for (const auto& metric : objective.metrics) {
      Json written = metric_json(metric.value, objective.loss.value, width, "metrics" + of, problems);
      const std::string_view type = name_of(metric.value);
      const int before = listed[type]++;
      // Named as here: of two that Keras names alike it reports one.
      if (written.is_object()) written["config"]["name"] = before > 0 ? fmt::format("{}_{}", type, before) : type;
      of_output.push_back(std::move(written));
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
