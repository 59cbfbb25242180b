#include "base/error.h"
#include "train/export/export_run.h"

namespace mirrortrain {

std::string keras_bytes(const TrainedRun&, const ExportOptions&) {
  throw UsageError("--format keras: this program does not write .keras files; use --format onnx");
}

}  // namespace mirrortrain
