#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tune/halving.h"
#include "tune/journal.h"

namespace mirrortrain::tune {

enum class TrialStatus : std::uint8_t {
  kDone,
  kPruned,  ///< others went on to more epochs
  kFailed,
  kUnfinished
};
std::string_view name_of(TrialStatus status);

/// What is said of a trial in tables, files and pages.
struct TrialRow {
  int number = 0;  ///< from 1
  TrialStatus status = TrialStatus::kUnfinished;
  std::optional<double> value;  ///< of its best epoch in the last round that it was done with
  std::int64_t best_epoch = 0;  ///< 0 with several folds
  std::vector<double> folds{};  ///< the value of each, if there are several
  std::int64_t epochs = 0;      ///< of that round; 0: as the configuration says
  std::string reason;           ///< why it failed
  Point point;

  /// Of the folds' values from their mean: report::deviation_of; nullopt without folds.
  std::optional<double> deviation() const;
};

/// Of a trial, by its number from 1, with a result that is its last, whatever others went on to; null: it has none.
TrialRow row_of(int number, const Point& point, const TrialResult* result);

/// In the order of their numbers.
std::vector<TrialRow> rows_of(std::span<const Trial> trials, std::span<const Round> rounds);

/// From the best to the worst: those that were trained furthest first, of these by value, of equal ones by number;
/// those without a value last.
std::vector<TrialRow> ranked_rows(std::vector<TrialRow> rows, bool less_is_better);

/// The row of the best trial, the first of ranked_rows: of those that were trained furthest the one with the best
/// value, the first of equal ones; null if none has a value.
const TrialRow* best_row(std::span<const TrialRow> rows, bool less_is_better);

/// A value on few columns: "0.01234", "{type: sgd}".
std::string cell_of(const Parameter& parameter, double number);
/// The epoch of a trial's value: "4", or "4/9" in a round of nine epochs; "-" with several folds.
std::string epoch_text(const TrialRow& row);

/// "trial-0007"
std::string trial_folder_name(int number);

/// The last parts of parameters' keys, as many as distinguish them: "learning_rate", "layers[1].dense.units".
std::vector<std::string> short_names(const SearchSpace& space);

/// A table of trials, line by line, so that each is printed when it is known. All lines have the same columns.
class TrialTable {
 public:
  /// `metric`: the name over the values. `has_folds`: their deviation has a column, too.
  TrialTable(const SearchSpace& space, std::string metric, std::size_t trials, bool has_folds);
  std::string header() const;
  std::string line(const TrialRow& row) const;

 private:
  std::string joined(const std::vector<std::string>& cells) const;

  const SearchSpace& space_;
  const bool has_folds_;
  std::vector<std::string> titles_;
  std::vector<std::size_t> widths_;
};

/// A trial's number, status, value, parameters and run. `folder`: the study's.
nlohmann::ordered_json trial_json(const SearchSpace& space, const TrialRow& row, const std::filesystem::path& folder);

/// The best trial's number and an object for each trial.
std::string study_json(const SearchSpace& space, const WatchedMetric& objective, std::span<const TrialRow> rows,
                       const std::filesystem::path& folder);

}  // namespace mirrortrain::tune
