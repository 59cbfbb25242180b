#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "train/checkpoint/training_state.h"
#include "train/checkpoint/variable_copies.h"

namespace mirrortrain {

/// A checkpoint's file was read, but its contents have changed since they were written.
class Damaged : public Error {
 public:
  using Error::Error;
};

/// The fingerprints (data::fingerprint) of the data that affect the weights: validation does through callbacks.
struct DataFingerprints {
  std::string train, validation;                           ///< empty if there are no examples
  std::vector<std::string> train_parts, validation_parts;  ///< of data at hand: what they are made of, for messages

  bool operator==(const DataFingerprints& other) const {
    return train == other.train && validation == other.validation;
  }
};
/// As in state.json: "9 examples, ...; validation: 3 examples, ...".
std::string to_text(const DataFingerprints& data);
DataFingerprints data_fingerprints_from(const std::string& text);

/// The contents of a checkpoint's state.json.
struct CheckpointState {
  TrainingState training;
  std::uint64_t seed = 0;
  DataFingerprints data;
  int replicas = 1;
  SavedPolicies policies;
  std::vector<std::string> metrics;                ///< the names of the metrics in the sums
  std::string scores;                              ///< how the sums' losses and metrics were configured; may be empty
  std::vector<std::string> callbacks;              ///< the names of the run's callbacks
  std::int64_t events = 0;                         ///< lines of metrics.jsonl
  bool is_finite = true;                           ///< whether all numbers in the other files are finite
  std::map<std::string, std::uint32_t> checksums;  ///< CRC-32 of the other files, by name
};

/// The file's text, which ends with the CRC-32 of everything before it. NaN and infinity, which JSON lacks, are
/// strings.
std::string to_text(const CheckpointState& state);

/// Appends the checksum as the last member of a JSON object, given its text without the end.
std::string with_checksum(std::string_view text);

/// Throws Damaged if a single bit of the text has changed since it was written, and Error for the format of another
/// version.
CheckpointState checkpoint_state_from(std::string_view text);

}  // namespace mirrortrain
