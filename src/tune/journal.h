#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "tune/search_space.h"
#include "tune/trial_share.h"

namespace mirrortrain::tune {

/// What became of a trial in a round.
struct TrialResult {
  std::int64_t epochs = 0;      ///< of the round; 0: as the configuration says
  bool is_done = false;         ///< it failed otherwise
  double value = 0;             ///< of the best epoch, if it is done; of several folds the mean
  std::int64_t best_epoch = 0;  ///< 0 with several folds
  int exit_code = 0;
  std::string reason{};         ///< why it failed
  std::vector<double> folds{};  ///< the value of each, if there are several

  /// Whether the same values would fail again: wrong ones together, a loss that is not finite, no finite metric. A full
  /// disk, a GPU in use or a kill is no result of the values.
  bool is_final() const;
};

/// A trial of a study.
struct Trial {
  Point point;
  std::vector<TrialResult> results;  ///< of the rounds so far
  /// Results of single folds, if there are several; `fold` from 1.
  struct Fold {
    std::int64_t fold = 0;
    TrialResult result;
  };
  std::vector<Fold> folds{};

  /// Null if it is not known.
  const TrialResult* result_of(std::int64_t epochs) const;
  const TrialResult* fold_of(std::int64_t epochs, std::int64_t fold) const;
  bool has_failed() const { return !results.empty() && !results.back().is_done; }
  /// Of the last round that it was done with; null if there is none, or if it failed since.
  const TrialResult* last() const { return results.empty() || has_failed() ? nullptr : &results.back(); }
};

/// journal.jsonl of a study: a line for the study, for each trial before it starts, and for each result, also of its
/// folds. A line is written and synced as a whole; one that a kill left unfinished is removed when the file is opened
/// again. Failures that are not final are left out then, so that their trials are trained again.
class Journal {
 public:
  /// Opens the file or begins it, with this share and these data (StudyData::text). Throws Error where a line is not
  /// the program's own, naming file and line.
  Journal(const std::filesystem::path& path, const SearchSpace& space, const TrialShare& share,
          const std::string& data = "");

  /// As the study began.
  const TrialShare& share() const { return share_; }
  const std::string& data() const { return data_; }
  /// The trials so far, by number from 0; in file and folders they count from 1.
  const std::vector<Trial>& trials() const { return trials_; }
  /// Adds the next trial.
  void add_trial(const Point& point);
  void add_result(int trial, const TrialResult& result);
  void add_fold(int trial, std::int64_t fold, const TrialResult& result);

 private:
  void read(const std::filesystem::path& path);
  void take_event(const nlohmann::ordered_json& event, const std::string& place);
  void write(const nlohmann::ordered_json& event);

  const SearchSpace& space_;
  TrialShare share_;
  std::string data_;
  std::vector<Trial> trials_;
  std::unique_ptr<OutputFile> file_;
};

}  // namespace mirrortrain::tune
