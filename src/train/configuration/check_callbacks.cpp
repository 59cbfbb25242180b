#include "train/configuration/check_callbacks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "config/schema.h"
#include "model/metrics.h"
#include "model/metrics/lower_is_better.h"

namespace mirrortrain {
namespace {

bool is_formula(const Model& model, std::string_view name) {
  return std::ranges::any_of(model.outputs, [name](const OutputTraits& output) {
    return std::ranges::any_of(output.metrics,
                               [name](const ModelMetric& metric) { return metric.name == name && metric.is_formula; });
  });
}

/// The name of a score without the name of the only output before it; "" if it has none.
std::string name_without_output(const std::string& score, const Model& model) {
  if (model.outputs.size() != 1 || !score.starts_with(model.outputs.front().name + "_")) return "";
  return score.substr(model.outputs.front().name.size() + 1);
}

}  // namespace

void check_watched(const WatchedMetric& watched, const Configuration& values, const Model& model,
                   config::Errors& errors) {
  const config::Located<std::string>& metric = watched.metric;
  const auto refuse = [&](std::string message) { errors.add(metric.place, metric.path, std::move(message)); };
  if (!values.model) return refuse("without a model there is no loss and no metric to watch; remove this");
  std::vector<std::string> known = {"loss"};
  for (std::string& name : model.score_names()) known.push_back(std::move(name));
  if (std::ranges::find(known, metric.value) == known.end()) {
    constexpr std::string_view kValidation = "val_";  // Keras's
    const std::string plain = metric.value.substr(metric.value.starts_with(kValidation) ? kValidation.size() : 0);
    const bool is_known = std::ranges::find(known, plain) != known.end();
    std::vector<std::string> of_outputs;  // whose names Keras's events have, too
    std::ranges::copy_if(known, std::back_inserter(of_outputs), [&](const std::string& name) {
      return model.outputs.size() > 1 && (name.ends_with("_" + plain) || name == plain + "_loss");
    });
    const std::string of_only = name_without_output(plain, model);
    const std::string hint =
        !is_known && std::ranges::count(known, of_only) > 0
            ? fmt::format("; the model has one output, whose metrics' names have no prefix: write '{}'", of_only)
        : !is_known && !of_outputs.empty()
            ? fmt::format("; of one of several outputs, write {}", fmt::join(of_outputs, " or "))
        : is_known
            ? fmt::format("; write '{}', which is that of the validation data unless `split: train` is given", plain)
            : config::suggestion(plain, config::with_aliases(known, config::names_of_choice<Metric>()));
    return refuse(fmt::format("expected loss or one of the run's metrics ({}), found '{}'{}", fmt::join(known, ", "),
                              shortened(metric.value, 200), hint.empty() ? "; add it to metrics" : hint));
  }
  const bool wants_less = watched.less_is_better();
  const bool is_known = !is_formula(model, metric.value);
  if (!is_known && watched.mode == MetricMode::kAuto) {
    return refuse(
        fmt::format("'{}' is a formula, of which it is not known whether more or less is better; add mode: min "
                    "or mode: max",
                    shortened(metric.value)));
  }
  if (is_known && wants_less != lower_is_better(metric.value)) {
    errors.warn(metric.place, metric.path,
                fmt::format("'{}' is better the {} it is, but mode: {} takes the {}; leave mode out",
                            shortened(metric.value), wants_less ? "larger" : "smaller", wants_less ? "min" : "max",
                            wants_less ? "smallest for the best" : "largest for the best"));
  }
  if (watched.split == MetricSplit::kValidation && !values.data.validation.value) {
    refuse(
        fmt::format("there is no validation data to compute '{}' on; give data.validation, or watch the training "
                    "data with `split: train`",
                    metric.value));
  }
}

void check_callbacks(const Configuration& values, const Model& model, config::Errors& errors) {
  for (const auto& callback : values.callbacks) {
    std::visit([&](const auto& options) { check_watched(options.watched, values, model, errors); }, callback.value);
    if (!std::holds_alternative<ReduceOnPlateau>(callback.value) || !values.optimizer) continue;
    if (values.optimizer->all.size() > 1) {
      errors.add(callback.place, callback.path,
                 "there are several optimizers, each with a learning rate of its own; reduce_on_plateau changes one "
                 "alone: use one optimizer, or a schedule");
    } else if (!std::holds_alternative<double>(learning_rates_of(*values.optimizer).front())) {
      errors.add(callback.place, callback.path,
                 "the learning rate follows a schedule, which reduce_on_plateau cannot change; give "
                 "optimizer.learning_rate a number, or remove one of the two");
    }
  }
  if (values.search && !errors.concern("search")) check_watched(values.search->objective(), values, model, errors);
  if (values.checkpoint.save_best) check_watched(values.checkpoint.save_best->watched, values, model, errors);
}

}  // namespace mirrortrain
