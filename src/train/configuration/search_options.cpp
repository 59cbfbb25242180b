#include "train/configuration/search_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/without_defaults.h"

namespace mirrortrain {
namespace {

std::string range_error(const SearchParameter& parameter) {
  if (!parameter.is_range()) return "";
  if (!parameter.min || !parameter.max) return "a range needs both min and max";
  if (*parameter.min >= *parameter.max) {
    return fmt::format("expected a min below max, found {} and {}; one value alone is `values: [{}]`", *parameter.min,
                       *parameter.max, *parameter.min);
  }
  return "";
}

}  // namespace

config::Section<SearchParameter> SearchParameter::section() {
  return config::Section<SearchParameter>("The values of a key that is searched: min and max, or values.")
      .key("min", &SearchParameter::min, "Smallest value of a range; null: values are listed.",
           config::aliases("low, lower, from"))
      .key("max", &SearchParameter::max, "Largest value of a range, itself possible.",
           config::aliases("high, upper, to"))
      .key("scale", &SearchParameter::scale,
           "Scale of a range on which equal distances are equally likely: linear or log.", config::aliases("space"))
      .key("step", &SearchParameter::step,
           "Distance between neighbouring values of a range; null: any value, or for a key of integers 1.",
           config::greater_than(0), config::aliases("q"))
      .key("values", &SearchParameter::values,
           "The possible values of the key in place of a range, whole sections among them.",
           config::aliases("choices, categories"))
      .key("when", &SearchParameter::when,
           "Other parameters with the value, or the list of values, that they need to have for this key to be set; "
           "otherwise the file's own value holds.",
           config::aliases("conditions, condition"))
      .check("values",
             [](const SearchParameter& parameter) -> std::string {
               if (parameter.is_range() && !parameter.values.empty())
                 return "expected either a range, min and max, or values, found both";
               return parameter.is_range() || !parameter.values.empty()
                          ? ""
                          : "expected a range, as {min: 1.0e-4, max: 0.1, scale: log}, or values: [64, 128]";
             })
      .check("values",
             [](const SearchParameter& parameter) -> std::string {
               for (std::size_t i = 0; i < parameter.values.size(); ++i) {
                 const auto is_same = [&](const config::Value& other) {
                   return config::same(other, parameter.values[i]);
                 };
                 if (std::ranges::count_if(parameter.values, is_same) > 1)
                   return fmt::format("{} is listed twice", config::flow_text(parameter.values[i]));
               }
               return "";
             })
      .check("min", range_error)
      .check("scale",
             [](const SearchParameter& parameter) -> std::string {
               if (parameter.scale == SearchScale::kLinear) return "";
               if (!parameter.values.empty()) return "listed values have no scale; leave it out";
               if (parameter.step) return "a range on a log scale has no step; leave one of them out";
               return parameter.min && *parameter.min <= 0 ? "a log scale needs a min above 0" : "";
             })
      .check("step", [](const SearchParameter& parameter) -> std::string {
        if (!parameter.step) return "";
        if (!parameter.values.empty()) return "listed values have no step; leave it out";
        return parameter.min && parameter.max && *parameter.step > *parameter.max - *parameter.min
                   ? "the step is larger than the range; leave it out, or list values"
                   : "";
      });
}

config::Section<NoPruner> NoPruner::section() {
  return config::Section<NoPruner>("Every trial is trained to its end.");
}

config::Section<SuccessiveHalving> SuccessiveHalving::section() {
  return config::Section<SuccessiveHalving>(
             "Trains all trials for a few epochs, and only the best of them further, round by round, until few are "
             "trained for all of training.epochs. A promoted trial resumes from its checkpoint.")
      .key("reduction_factor", &SuccessiveHalving::reduction_factor,
           "Keeps one of this many trials in each round, with this many times the epochs.", config::between(2, 1000),
           config::aliases("eta, factor"))
      .key("min_epochs", &SuccessiveHalving::min_epochs, "Fewest epochs of the first round.", config::at_least(1),
           config::aliases("min_resource, grace_period"));
}

config::Section<SearchOptions> SearchOptions::section() {
  return config::Section<SearchOptions>("The search for good values of other keys, by `mirrortrain tune`.")
      .key("trials", &SearchOptions::trials,
           "Number of trials, each a run with values of its own; null: with grid, every combination, and with external "
           "as many as are asked for.",
           config::between(1, 1e6), config::aliases("n_trials, num_trials, num_samples, max_trials"))
      .key("metric", &SearchOptions::metric,
           "The figure that a trial is judged by, the best of its epochs; null: the smallest validation loss.")
      .key("sampler", &SearchOptions::sampler,
           "grid: every combination of values; random: each trial at random; tpe: at random at first, then more often "
           "where earlier trials were good (tree-structured Parzen estimator); external: as another program says, by "
           "lines of JSON on stdin.",
           config::aliases("search_alg, search_algorithm"))
      .key("pruner", &SearchOptions::pruner, "How unpromising trials are pruned.")
      .key("parallel", &SearchOptions::parallel,
           "Number of trials trained at a time, each on an equal share of the cores, or of the GPUs.",
           config::between(1, 1024), config::aliases("n_jobs, max_concurrent_trials"))
      .key("sampler_seed", &SearchOptions::sampler_seed,
           "Random seed of the sampler; null: the configuration's, which the trials have in any case.")
      .key("parameters", &SearchOptions::parameters,
           "The keys to search, by path, such as optimizer.learning_rate, each with its possible values.",
           config::required, config::aliases("search_space, param_space"))
      .check("parameters",
             [](const SearchOptions& options) -> std::string {
               return options.parameters.empty() ? "expected at least one key, as optimizer.learning_rate: {min: "
                                                   "1.0e-4, max: 0.1, scale: log}"
                                                 : "";
             })
      .check("pruner",
             [](const SearchOptions& options) -> std::string {
               return options.sampler == SearchSampler::kExternal &&
                              !std::holds_alternative<NoPruner>(options.pruner.value)
                          ? "with sampler: external the other program ends trials early, by the epochs that it asks "
                            "for; leave the pruner out"
                          : "";
             })
      .check("sampler_seed",
             [](const SearchOptions& options) -> std::string {
               return options.sampler == SearchSampler::kExternal && options.sampler_seed
                          ? "sampler: external draws nothing; leave it out"
                          : "";
             })
      .check("trials", [](const SearchOptions& options) -> std::string {
        const bool has_end = options.sampler == SearchSampler::kGrid || options.sampler == SearchSampler::kExternal;
        return options.trials || has_end ? ""
                                         : fmt::format(
                                               "{} has no end of its own; give the number of trials, as "
                                               "trials: 40",
                                               config::name_of(options.sampler));
      });
}

WatchedMetric SearchOptions::objective() const {
  if (metric.value) return *metric.value;
  WatchedMetric least;
  least.metric.place = metric.place;
  least.metric.path = metric.path;
  return least;
}

}  // namespace mirrortrain
