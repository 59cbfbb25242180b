#include "tune/check_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/document.h"
#include "train/configuration/check_callbacks.h"
#include "train/session/check_configuration.h"
#include "train/session/check_data.h"
#include "tune/check_comparable.h"
#include "tune/halving.h"
#include "tune/sampler.h"

namespace mirrortrain::tune {
namespace {

/// The values of a parameter that are tried: all of a choice, the ends of a range.
std::vector<double> tried_values(const Parameter& parameter) {
  if (parameter.kind != Parameter::Kind::kChoice) return {parameter.low, parameter.high};
  std::vector<double> all;
  for (std::size_t i = 0; i < parameter.count(); ++i) all.push_back(parameter.nth(i));
  return all;
}

/// The errors of a configuration on one line, without the places of the settings that led to them.
std::string on_one_line(const std::string& errors) {
  std::string text;
  for (std::size_t at = 0, end = 0; at < errors.size(); at = end + 1) {
    end = std::min(errors.find('\n', at), errors.size());
    std::string line = errors.substr(at, end - at);
    if (line.empty() || line.ends_with(" errors") || line.ends_with("1 error")) continue;
    if (line.starts_with("--set ")) line.erase(0, std::min(line.find(": "), line.size() - 2) + 2);
    text += (text.empty() ? "" : "; ") + line;
  }
  return text;
}

/// What is wrong with a trial's configuration, as far as it can be seen without reading data; empty if nothing is.
/// `objective`: what it is judged by. `has_own_data`: whether it may name other files than the search's.
std::string errors_of(const std::string& file, const std::vector<std::string>& overrides,
                      const WatchedMetric& objective, bool has_own_data) {
  config::Errors errors;
  try {
    const CheckedConfiguration trial = look_at_configuration(file, overrides, errors);
    if (errors.empty()) check_watched(objective, trial.values(), *trial.model, errors);
    if (errors.empty() && has_own_data) {
      require_data_files(trial, {data::Split::kTrain, data::Split::kValidation, data::Split::kTest});
    }
  } catch (const Error& error) {
    return on_one_line(error.what());
  }
  return errors.empty() ? "" : on_one_line(errors.text());
}

void check_values(const SearchSpace& space, const std::string& file, std::span<const std::string> overrides,
                  const WatchedMetric& objective, config::Errors& errors) {
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    const std::string path = "search.parameters." + parameter.key;
    for (const double number : tried_values(parameter)) {
      const auto point = space.point_with(i, number);
      if (!point) {
        errors.add(parameter.place, path, "its conditions exclude each other, so that it is never searched");
        break;
      }
      const std::string wrong =
          errors_of(file, trial_overrides(overrides, space, *point), objective, is_at_or_below(parameter.key, "data"));
      if (wrong.empty()) continue;
      errors.add(parameter.place, path,
                 fmt::format("a trial with {} would fail: {}", config::flow_text(parameter.value_of(number)), wrong));
      break;  // the other values are often wrong in the same way
    }
  }
}

/// A key that is searched, and is also in a section that is a value of another one: one would overrule the other.
void check_overlap(const SearchSpace& space, config::Errors& errors) {
  const std::vector<Parameter>& all = space.parameters();
  for (std::size_t outer = 0; outer < all.size(); ++outer) {
    for (const Parameter& inner : all) {
      if (&inner == &all[outer] || !is_at_or_below(inner.key, all[outer].key)) continue;
      std::string below = inner.key.substr(all[outer].key.size());
      if (below.starts_with('.')) below.erase(0, 1);
      for (std::size_t i = 0; i < all[outer].values.size(); ++i) {
        const bool excludes = std::ranges::any_of(inner.conditions, [&](const Condition& condition) {
          return condition.parameter == outer && !condition.holds(all[outer], static_cast<double>(i));
        });
        if (excludes || !has_key(all[outer].values[i], below)) continue;
        errors.add(inner.place, "search.parameters." + inner.key,
                   fmt::format("the value {} of {} has this key, too; leave it out in one of them, or add a `when`",
                               config::flow_text(all[outer].values[i]), all[outer].key));
        break;
      }
    }
  }
}

void check_grid(const CheckedConfiguration& checked, const SearchSpace& space, config::Errors& errors) {
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.count() > 0) continue;
    errors.add(parameter.place, "search.parameters." + parameter.key,
               "grid tries every value, and this range has no end of them; give a step, or list values");
  }
  if (errors.empty() && !count_combinations(space)) {
    errors.add(checked.place_of("search.parameters"), "search.parameters",
               "there are more than a million combinations; use the sampler random or tpe");
  }
}

void check_halving(const CheckedConfiguration& checked, const SearchSpace& space, config::Errors& errors) {
  const SearchOptions& search = *checked.values().search;
  const auto* const halving = std::get_if<SuccessiveHalving>(&search.pruner.value);
  if (halving == nullptr) return;
  const auto refuse = [&](std::string why) { errors.add(search.pruner.place, search.pruner.path, std::move(why)); };
  const std::int64_t epochs = checked.values().training.epochs.value_or(0);
  if (epochs == 0) {
    refuse("its rounds have parts of training.epochs, which is not given; give it");
  } else if (rounds_of(search.pruner.value, 1, epochs).size() == 1) {
    refuse(
        fmt::format("training.epochs, {}, is too small for a round before the last: expected at least min_epochs x "
                    "reduction_factor = {}",
                    epochs, halving->min_epochs * halving->reduction_factor));
  }
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.key != "training.epochs" && parameter.key != "training") continue;
    errors.add(parameter.place, "search.parameters." + parameter.key,
               "successive_halving sets training.epochs; leave it out here, or use pruner: none");
  }
}

}  // namespace

std::vector<std::string> trial_overrides(std::span<const std::string> overrides, const SearchSpace& space,
                                         const Point& point) {
  std::vector<std::string> all(overrides.begin(), overrides.end());
  all.emplace_back("search=null");
  for (std::string& setting : space.settings(point)) all.push_back(std::move(setting));
  return all;
}

SearchSpace check_search(const CheckedConfiguration& checked, const std::string& file,
                         std::span<const std::string> overrides, config::Errors& errors) {
  const Configuration& values = checked.values();
  const SearchOptions& search = *values.search;
  SearchSpace space(search, config::schema<Configuration>(), errors);
  if (values.strategy.declaration().on_cluster) {
    errors.add(checked.place_of("strategy.type"), "strategy.type",
               fmt::format("a trial is one process, found {}; use mirrored or one_device in a search",
                           values.strategy.declaration().name));
  }
  if (!values.model) {
    errors.add(checked.place_of("search"), "search",
               "without a model there is nothing to search for; remove this section");
  }
  check_comparable(values, space, errors);
  check_overlap(space, errors);
  if (!errors.empty()) return space;
  check_halving(checked, space, errors);
  if (search.sampler == SearchSampler::kGrid) check_grid(checked, space, errors);
  check_values(space, file, overrides, search.objective(), errors);
  return space;
}

}  // namespace mirrortrain::tune
