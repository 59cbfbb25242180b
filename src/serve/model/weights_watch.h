#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "train/checkpoint/named_run.h"
#include "train/runs/run_weights.h"

namespace mirrortrain {

/// Notices when a run's weights change.
class WeightsWatch {
 public:
  /// `run` must outlive it. Throws Error if there are no weights.
  explicit WeightsWatch(const NamedRun& run);

  /// Whether they have changed since the last call. Throws Error, once, if there are none now.
  bool has_changed();
  /// Throws Error if the run keeps other words, classes or means than at first: its weights want other examples.
  void require_same_data() const;

 private:
  struct Seen {
    std::filesystem::path file;
    std::filesystem::file_time_type time{};
    std::int64_t step = 0;
    std::optional<std::uint32_t> checksum{};
    std::string fault{};  ///< why there are none
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  Seen look() const;
  std::string kept() const;

  const NamedRun& run_;
  Seen seen_;
  std::string kept_;  ///< what the run keeps of its data
};

}  // namespace mirrortrain
