#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "train/checkpoint/checkpoint_state.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::tune {

/// The data are no longer those that a study's other trials were trained or validated on.
class DataChanged : public UsageError {
 public:
  using UsageError::UsageError;
};

/// The data of a study, by which all its trials are compared: read when the study begins or is continued, and again
/// once one of their files has another size or time.
class StudyData {
 public:
  /// Reads the data for training and validation, as the configuration has them without the search. Throws Error for
  /// data that are missing or broken.
  explicit StudyData(const CheckedConfiguration& checked);

  /// Identifies them, for the journal: "96 examples, labels 1f3a9c02, ...; validation: 31 examples, ...".
  std::string text() const;
  /// Throws DataChanged if the journal of the study in `folder` has other data; an empty text is any.
  void require_same(const std::string& before, const std::string& folder) const;
  /// Throws DataChanged if a file was changed since, so that the data differ, and Error if they cannot be read any
  /// more. Looks at sizes and times alone as long as these are the same.
  void require_unchanged();

 private:
  /// What a file's contents cannot change without.
  struct FileState {
    std::int64_t bytes = -1, nanoseconds = 0;  ///< -1: it does not exist
    std::uint64_t inode = 0;
    bool operator==(const FileState&) const = default;
  };
  using FileStates = std::map<std::string, FileState>;
  FileStates look_at_files() const;

  const CheckedConfiguration& checked_;
  FileStates files_;  ///< looked at before they were read
  DataFingerprints data_;
};

}  // namespace mirrortrain::tune
