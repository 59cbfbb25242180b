#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "report/event.h"

namespace mirrortrain::report {

/// Scalars for TensorBoard over the steps. Training, validation and test share a chart for each quantity, as in Keras:
/// `loss` and the metrics in the sub-runs train (each step event; of whole epochs as epoch_loss, ...), validation and
/// test, which are folders in the run's. The run's own has learning_rate, examples_per_second, state/VARIABLE,
/// waiting/lane_N, waited_for/worker_N and staleness.
class TensorBoardWriter : public Writer {
 public:
  /// Creates new events.out.tfevents files in `folder` and in its `sub_runs`; in other sub-runs at their first event.
  /// `resumed_from_step` is the last step to keep: if it is not 0, TensorBoard drops later steps of earlier files.
  explicit TensorBoardWriter(const std::filesystem::path& folder, std::int64_t resumed_from_step = 0,
                             const std::vector<std::string>& sub_runs = {});

  void write(const Event& event) override;

 private:
  /// The file of a sub-run; of the run itself for "".
  OutputFile& file_of(const std::string& sub_run);

  std::filesystem::path folder_;
  std::int64_t resumed_from_step_;
  std::map<std::string, OutputFile> files_;
};

}  // namespace mirrortrain::report
