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

/// A checkpoint's file was read, and is not what was written.
class Damaged : public Error {
 public:
  using Error::Error;
};

/// The fingerprints (data::fingerprint) of the data that weights depend on: validation decides for callbacks.
struct DataFingerprints {
  std::string train, validation;  ///< empty where there are no examples
  bool operator==(const DataFingerprints&) const = default;
};
/// As state.json has them: "9 examples, ...; validation: 3 examples, ...".
std::string to_text(const DataFingerprints& data);
DataFingerprints data_fingerprints_from(const std::string& text);

/// What state.json of a checkpoint holds.
struct CheckpointState {
  TrainingState training;
  std::uint64_t seed = 0;
  DataFingerprints data;
  int replicas = 1;
  SavedPolicies policies;
  std::vector<std::string> metrics;                ///< the names of those in the sums
  std::vector<std::string> callbacks;              ///< the names of those that watched
  std::int64_t events = 0;                         ///< lines of metrics.jsonl
  bool is_finite = true;                           ///< whether every number of the other files is
  std::map<std::string, std::uint32_t> checksums;  ///< CRC-32 of the other files, by name
};

/// The file's text, which ends with the CRC-32 of all before it. NaN and infinity, which JSON lacks, are texts.
std::string to_text(const CheckpointState& state);

/// The text of a JSON object without its end, and its checksum as the object's last member.
std::string with_checksum(std::string_view text);

/// Throws Damaged where a single bit of the text differs from what was written, and Error for the format of another
/// version.
CheckpointState checkpoint_state_from(std::string_view text);

}  // namespace mirrortrain
