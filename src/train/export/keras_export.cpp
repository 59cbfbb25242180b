#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/scratch_folder.h"
#include "keras/write_keras_model.h"
#include "model/wiring.h"
#include "train/export/export_run.h"
#include "train/export/exported_weights.h"
#include "train/session/run.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

/// Throws UsageError for columns whose cells become numbers before any layer, by their names.
void require_numbers(const TrainedRun& run) {
  if (!run.adapted || !run.adapted->table) return;
  const data::AdaptedTable& table = *run.adapted->table;
  std::vector<std::string> refused;
  for (const data::TableInput& input : table.inputs) {
    if (const auto* const texts = std::get_if<data::TableInput::Texts>(&input.content)) {
      refused.push_back(table.text_of(texts->column) + ": its texts become tokens before the layers");
    }
    if (!std::holds_alternative<data::TableInput::Numbers>(input.content)) continue;
    for (const data::AdaptedColumn* const column : table.columns_of(input)) {
      if (column->is_category()) {
        refused.push_back(table.text_of(*column) + ": its words become numbers before the layers");
      } else if (column->missing) {
        refused.push_back(table.text_of(*column) + ": its empty cells get a value before the layers");
      }
    }
  }
  if (refused.empty()) return;
  throw UsageError(
      fmt::format("{}: a .keras file has the model alone, without a table's columns; --raw writes it, for "
                  "numbers as the layers take them:\n  {}",
                  run.named.folder.path.string(), fmt::join(refused, "\n  ")));
}

}  // namespace

std::string keras_bytes(const TrainedRun& run, const ExportOptions& options) {
  if (!options.raw) require_numbers(run);
  const Configuration& values = run.checked.values();
  const Model model = whole_model(run.checked);
  const StoredTensors weights = read_exported_weights(weights_of(run.named), model);
  config::Errors errors;
  const Wiring wiring = wire_layers(*values.model, errors);
  data::Adapted adapted = run.adapted.value_or(data::Adapted{});
  const ScratchFolder folder("cannot make a folder for the file");
  const fs::path file = folder.path() / (values.name.text + ".keras");
  const std::vector<std::string> remarks = keras::write_keras_model(
      file, {.name = values.name.text,
             .model = *values.model,
             .wiring = wiring,
             .built = model,
             .preprocessing =
                 options.raw ? std::vector<data::PreprocessingStep>() : adapted_preprocessing(run.checked, adapted),
             .objectives = run.checked.objectives,
             .optimizer = values.optimizer ? &*values.optimizer : nullptr,
             .gradients = {values.gradients.clip_norm, values.gradients.clip_value, values.gradients.accumulate_steps},
             .precision = values.training.precision,
             .weights = weights});
  for (const std::string& remark : remarks) spdlog::warn("{}", remark);
  return read_text_file(file);
}

}  // namespace mirrortrain
