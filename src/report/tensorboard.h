#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "report/event.h"
#include "report/tensorboard_graph.h"

namespace mirrortrain::report {

/// A run's events for TensorBoard, over the steps. Training, validation and test share a chart for each quantity, as in
/// Keras: `loss` and the metrics in the sub-runs train (each step event; of whole epochs as epoch_loss, ...),
/// validation and test, which are folders in the run's. The run's own has learning_rate, examples_per_second,
/// gradient_norm, state/VARIABLE, waiting/lane_N, waited_for/worker_N and staleness; train has the variables'
/// histograms.
class TensorBoardWriter : public Writer {
 public:
  /// Creates new events.out.tfevents files in `folder` and in its `sub_runs`; in other sub-runs at their first event.
  /// `resumed_from_step`, of a run that is resumed, is the last step to keep: TensorBoard drops later steps of earlier
  /// files.
  explicit TensorBoardWriter(const std::filesystem::path& folder,
                             std::optional<std::int64_t> resumed_from_step = std::nullopt,
                             const std::vector<std::string>& sub_runs = {});

  void write(const Event& event) override;
  /// As a text; of a resumed run at the first step that it makes, so that another resume from there replaces it.
  void write_configuration(std::string_view yaml);
  /// The model's graph, unless the run has been resumed from a checkpoint: then the folder has it.
  void write_graph(std::span<const ModelNode> nodes);

 private:
  std::int64_t first_step() const { return resumed_from_step_ ? *resumed_from_step_ + 1 : 0; }
  /// The file of a sub-run; of the run itself for "".
  OutputFile& file_of(const std::string& sub_run);

  std::filesystem::path folder_;
  std::optional<std::int64_t> resumed_from_step_;
  bool is_first_;
  std::map<std::string, OutputFile> files_;
};

}  // namespace mirrortrain::report
