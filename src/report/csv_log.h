#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "report/event.h"

namespace mirrortrain::report {

/// epochs.csv: a line for each epoch, as Keras's CSVLogger writes them: `epoch` (from 1), then the figures in the order
/// of their names, those of the validation data with val_ before them. A figure that an epoch lacks is an empty cell.
class CsvLog : public Writer {
 public:
  /// Replaces the file by the epochs in `events`, a metrics.jsonl whose lines all count, and appends later ones.
  /// `figures`: the names of the loss and the metrics. Throws Error for files that cannot be read or written.
  CsvLog(const std::filesystem::path& path, const std::filesystem::path& events, std::vector<std::string> figures,
         bool validates);

  void write(const Event& event) override;

 private:
  std::vector<std::string> columns_;  ///< after `epoch`
  OutputFile file_;
};

}  // namespace mirrortrain::report
