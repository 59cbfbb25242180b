#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "report/event.h"

namespace mirrortrain::report {

/// Scalars for TensorBoard over the steps: train/NAME (each step event), epoch/NAME, validation/NAME and test/NAME with
/// loss and the metrics as names, learning_rate, examples_per_second and state/VARIABLE.
class TensorBoardWriter : public Writer {
 public:
  /// Creates an events.out.tfevents file of its own in `folder`. `resumed_from_step` is the last step that stays: where
  /// it is not 0 TensorBoard drops what earlier files of the folder say of later steps.
  explicit TensorBoardWriter(const std::filesystem::path& folder, std::int64_t resumed_from_step = 0);

  void write(const Event& event) override;

 private:
  OutputFile file_;
};

}  // namespace mirrortrain::report
