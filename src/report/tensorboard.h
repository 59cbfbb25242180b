#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "report/event.h"

namespace mirrortrain::report {

/// Scalars for TensorBoard over the steps. Training, validation and test share a chart for each quantity, as Keras has
/// them: `loss` and the metrics in the sub-runs train (each step event; of whole epochs as epoch_loss, ...), validation
/// and test, which are folders in the run's. The run's own has learning_rate, examples_per_second, state/VARIABLE and
/// waiting/lane_N.
class TensorBoardWriter : public Writer {
 public:
  /// Creates events.out.tfevents files of its own in `folder` and in those of `sub_runs` there; in others once they get
  /// something. `resumed_from_step` is the last step that stays: where it is not 0 TensorBoard drops what earlier files
  /// say of later steps.
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
