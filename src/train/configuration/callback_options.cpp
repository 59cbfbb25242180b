#include "train/configuration/callback_options.h"

#include "model/metrics/lower_is_better.h"

namespace mirrortrain {

config::Section<WatchedMetric> WatchedMetric::section() {
  return config::Section<WatchedMetric>("The figure to watch at the end of each epoch.")
      .key("metric", &WatchedMetric::metric, "Metric to watch: loss, or one of the metrics by its name.",
           config::non_empty, config::aliases("monitor"))
      .key("mode", &WatchedMetric::mode,
           "Whether a smaller (`min`) or a larger value (`max`) is better; `auto`: `min` for the loss and for errors, "
           "else `max`.")
      .key("split", &WatchedMetric::split,
           "The data of the metric: the validation data, or the training data as the `epoch` event has it.");
}

bool WatchedMetric::less_is_better() const {
  return mode == MetricMode::kAuto ? lower_is_better(metric.value) : mode == MetricMode::kMin;
}

std::string WatchedMetric::text() const {
  return (split == MetricSplit::kTrain ? "training " : "validation ") + metric.value;
}

config::Section<EarlyStopping> EarlyStopping::section() {
  return config::Section<EarlyStopping>("Ends the training when a metric has stopped improving.")
      .include(&EarlyStopping::watched)
      .key("patience", &EarlyStopping::patience,
           "Number of epochs without improvement after which training ends; never after the first epoch.",
           config::at_least(0))
      .key("min_delta", &EarlyStopping::min_delta, "A smaller change does not count as an improvement.",
           config::at_least(0))
      .key("baseline", &EarlyStopping::baseline,
           "Only improvements to a value better than this restart the patience; null: every improvement does.")
      .key("start_from_epoch", &EarlyStopping::start_from_epoch,
           "Number of epochs at the beginning that are not looked at.", config::at_least(0))
      .key("restore_best", &EarlyStopping::restore_best,
           "Whether the run ends with the weights of the best epoch instead of the last, also when all epochs were "
           "trained. Of several callbacks with it the last counts.",
           config::aliases("restore_best_weights"));
}

config::Section<ReduceOnPlateau> ReduceOnPlateau::section() {
  return config::Section<ReduceOnPlateau>("Reduces the learning rate when a metric has stopped improving.")
      .include(&ReduceOnPlateau::watched)
      .key("factor", &ReduceOnPlateau::factor, "The learning rate is multiplied by this.", config::greater_than(0),
           config::less_than(1))
      .key("patience", &ReduceOnPlateau::patience,
           "Number of epochs without improvement after which the learning rate is reduced.", config::at_least(0))
      .key("min_delta", &ReduceOnPlateau::min_delta, "A smaller change does not count as an improvement.",
           config::at_least(0))
      .key("cooldown", &ReduceOnPlateau::cooldown,
           "After a reduction the patience begins with the epoch of this number, counted from 1.", config::at_least(0))
      .key("min_learning_rate", &ReduceOnPlateau::min_learning_rate, "The learning rate is not reduced below this.",
           config::at_least(0), config::aliases("min_lr"));
}

config::Section<SaveBest> SaveBest::section() {
  return config::Section<SaveBest>("The checkpoint of the best epoch so far is kept as checkpoints/best.")
      .include(&SaveBest::watched);
}

}  // namespace mirrortrain
