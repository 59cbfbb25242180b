#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/map.h"
#include "config/section.h"
#include "train/configuration/callback_options.h"

namespace mirrortrain {

/// How a search chooses the values of its next trial.
enum class SearchSampler : std::uint8_t {
  kGrid,
  kRandom,
  kTpe,
  kExternal,  ///< another program names them, line by line
};

/// Between which values of a range distances are equal.
enum class SearchScale : std::uint8_t { kLinear, kLog };

/// The values that a key of the configuration may have in a search: those of a range, or listed ones.
struct SearchParameter {
  std::optional<double> min, max;  ///< both ends are possible values
  SearchScale scale = SearchScale::kLinear;
  std::optional<double> step;  ///< of a range: min, min + step, ...
  std::vector<config::Value> values;
  /// The key is searched only in trials in which other parameters have these values: a value, or a list of them.
  config::Map<config::Value> when;
  static config::Section<SearchParameter> section();

  bool is_range() const { return min || max; }
};

/// Every trial is trained to its end.
struct NoPruner {
  static constexpr std::string_view kName = "none";
  static config::Section<NoPruner> section();
};

/// Synchronous successive halving (Jamieson and Talwalkar: "Non-stochastic best arm identification and hyperparameter
/// optimization", 2016), with training.epochs as the budget of a trial.
struct SuccessiveHalving {
  static constexpr std::string_view kName = "successive_halving";
  static constexpr std::string_view kAliases = "halving, sha";
  std::int64_t reduction_factor = 3;
  std::int64_t min_epochs = 1;
  static config::Section<SuccessiveHalving> section();
};

using SearchPruner = std::variant<NoPruner, SuccessiveHalving>;

/// The section `search`, which `tune` reads and every other command only checks.
struct SearchOptions {
  std::optional<std::int64_t> trials;
  config::Located<std::optional<WatchedMetric>> metric;
  SearchSampler sampler = SearchSampler::kTpe;
  config::Located<SearchPruner> pruner;
  std::int64_t parallel = 1;
  std::optional<std::uint64_t> sampler_seed;  ///< none: the configuration's
  config::Map<config::Located<SearchParameter>> parameters;
  static config::Section<SearchOptions> section();

  /// What a trial is judged by: its best epoch's value; without `metric`, the validation loss.
  WatchedMetric objective() const;
};

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::SearchSampler> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::SearchSampler>>({
      {"grid", mirrortrain::SearchSampler::kGrid},
      {"random", mirrortrain::SearchSampler::kRandom},
      {"tpe", mirrortrain::SearchSampler::kTpe},
      {"external", mirrortrain::SearchSampler::kExternal},
  });
  static constexpr auto aliases =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"grid", "grid_search, GridSampler"},
                                                                    {"random", "random_search, RandomSampler"},
                                                                    {"tpe", "TPESampler"},
                                                                    {"external", "ask_and_tell, manual"}});
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::SearchScale> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::SearchScale>>({
      {"linear", mirrortrain::SearchScale::kLinear},
      {"log", mirrortrain::SearchScale::kLog},
  });
  static constexpr auto aliases = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"linear", "uniform"}, {"log", "loguniform, log_uniform, logarithmic"}});
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::SearchPruner> {
  static constexpr std::string_view tag = "type";
  static constexpr std::string_view noun = "a pruner";
};
