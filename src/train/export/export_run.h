#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "train/runs/run_weights.h"

namespace mirrortrain {

struct ExportOptions {
  bool raw = false;    ///< the layers alone, without the run's preprocessing
  std::string file{};  ///< that the bytes go to, which messages name; "": after the configuration
};

/// A format of files that other programs run a network from.
struct ExportFormat {
  std::string_view name, ending;
  /// The bytes of the file, always the same for the same run. Throws UsageError, naming every layer, column and step of
  /// preprocessing that the format has nothing for.
  std::string (*bytes)(const TrainedRun& run, const ExportOptions& options);
};

// Each has a file of its own.
std::string onnx_bytes(const TrainedRun& run, const ExportOptions& options);
std::string keras_bytes(const TrainedRun& run, const ExportOptions& options);

/// The list of all formats; the first is the default.
inline constexpr auto kExportFormats =
    std::to_array<ExportFormat>({{"onnx", ".onnx", onnx_bytes}, {"keras", ".keras", keras_bytes}});

}  // namespace mirrortrain
