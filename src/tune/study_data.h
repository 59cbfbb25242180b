#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "train/checkpoint/checkpoint_state.h"
#include "tune/study_plan.h"
#include "tune/watched_files.h"

namespace mirrortrain::tune {

/// The data are no longer those that a study's other trials were trained or validated on.
class DataChanged : public UsageError {
 public:
  using UsageError::UsageError;
};

/// The data of a study, by which all its trials are compared: read when the study begins or is continued, and again
/// once one of their files has another size or time. With them go the other files that its trials read: those of the
/// listed values of its parameters, of data.preprocessing and of the model's weights.
class StudyData {
 public:
  /// Reads the data for training and validation, as the configuration has them without the search. Throws Error for
  /// data that are missing or broken. `plan` must outlive it.
  explicit StudyData(const StudyPlan& plan);

  /// Identifies them, for the journal: "96 examples, labels 1f3a9c02, ...; validation: 31 examples, ...", and behind it
  /// "; other files 77b01e55" if there are any.
  std::string text() const;
  /// Throws DataChanged if the journal of the study in `folder` has other data; an empty text is any.
  void require_same(const std::string& before, const std::string& folder) const;

  enum class Look : bool { kNow, kSometimes };
  /// Throws DataChanged if a file was changed since, so that the data differ, and Error if they cannot be read any
  /// more. Looks at sizes and times alone as long as these are the same; with kSometimes not even at these where that
  /// would take more than a twentieth of the time, as for a large folder of pictures.
  void require_unchanged(Look look = Look::kSometimes);

  /// Throws DataChanged if a trial's run at `point`, for a fold from 1 or with all data (0), was trained on other data
  /// than the study's, which may have been there for a while, by the fingerprints of its checkpoint. `settings`: of its
  /// configuration; `run`: for the message.
  void require_data_of_run(const DataFingerprints& of_run, const Point& point, std::int64_t fold,
                           std::span<const std::string> settings, const std::string& run);

 private:
  FileStates look();
  std::uint32_t checksum_of_others() const;

  const StudyPlan& plan_;
  const std::vector<std::string> named_, others_;  ///< by the data as they are read, and by what else trials read
  std::chrono::steady_clock::time_point looked_;   ///< when files were looked at last
  std::chrono::steady_clock::duration look_takes_{};
  FileStates files_;  ///< of both, looked at before they were read
  DataFingerprints data_;
  std::optional<std::uint32_t> checksum_;  ///< of `others_`, if there are any
  /// Fingerprints that a configuration with these values has, where they are not `data_`.
  std::set<std::pair<std::string, std::string>> known_;
};

}  // namespace mirrortrain::tune
