#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "keras/writing/write_columns.h"
#include "keras/writing/write_keras_model.h"
#include "model/learning_rate.h"
#include "model/wiring.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/export/export_run.h"
#include "train/export/exported_weights.h"
#include "train/session/run.h"
#include "train/session/run_data.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

/// A folder in the system's temporary one, removed with all it holds.
class ScratchFolder {
 public:
  /// `what`: begins the message of the Error where it cannot be made.
  explicit ScratchFolder(const std::string& what) {
    std::string name = (std::filesystem::temp_directory_path() / "mirrortrain-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error(what + ": " + name);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Throws UsageError for columns whose cells no layer of Keras's takes, by their names.
void require_columns(const TrainedRun& run) {
  if (!run.adapted || !run.adapted->table) return;
  const data::AdaptedTable& table = *run.adapted->table;
  std::vector<std::string> refused;
  for (const data::TableInput& input : table.inputs) {
    if (const auto* const texts = std::get_if<data::TableInput::Texts>(&input.content)) {
      refused.push_back(table.text_of(texts->column) + ": its texts become tokens before the layers");
    }
  }
  for (const data::AdaptedColumn& column : table.features) {
    if (const std::string why = keras::why_not_encoded(column); !why.empty()) {
      refused.push_back(fmt::format("{}: {}", table.text_of(column), why));
    }
  }
  if (refused.empty()) return;
  throw UsageError(fmt::format(
      "{}: a .keras file cannot take the cells of {}; --raw writes the model alone, for numbers as the "
      "layers take them:\n  {}",
      run.named.folder.path.string(), refused.size() == 1 ? "a column" : "some columns", fmt::join(refused, "\n  ")));
}

/// The checkpoint with the state in which the optimizer made these weights; nullopt if there is none any more.
std::optional<fs::path> checkpoint_of(const RunWeights& weights, const RunFolder& folder) {
  const fs::path beside = weights.file.parent_path();
  if (fs::exists(beside / "state.json")) return beside;
  const auto newest = newest_checkpoint(folder.checkpoints());
  return newest && weights.step > 0 && step_of_checkpoint(*newest) == weights.step ? newest : std::nullopt;
}

std::optional<keras::OptimizerState> optimizer_state_of(const TrainedRun& run, const RunWeights& weights) {
  const Configuration& values = run.checked.values();
  if (!values.optimizer || values.optimizer->all.size() != 1) return std::nullopt;
  const auto anew = [](std::string_view why) {
    spdlog::warn("optimizer: fit in Keras begins with a new state, as {}", why);
    return std::nullopt;
  };
  const std::optional<fs::path> checkpoint = checkpoint_of(weights, run.named.folder);
  if (!checkpoint) return anew("the run has no checkpoint of the step that its weights are of");
  try {
    const OpenCheckpoint read = open_checkpoint(*checkpoint);
    const TrainingState& training = read.state.training;
    keras::OptimizerState state{training.updates, training.gradients, std::nullopt, read.training.read_all()};
    if (training.gradients > 0 && training.skips_update) return anew("a step of the next update was skipped");
    const LearningRate& rate = learning_rate_of(values.optimizer->all.front());
    if (std::holds_alternative<double>(rate)) {
      state.learning_rate = training.callbacks.learning_rate_from(std::get<double>(rate));
    }
    return state;
  } catch (const Error& error) {
    return anew(fmt::format("that of the run cannot be read: {}", error.what()));
  }
}

}  // namespace

std::string keras_bytes(const TrainedRun& run, const ExportOptions& options) {
  if (!options.raw) require_columns(run);
  const Configuration& values = run.checked.values();
  Model model = whole_model(run.checked);
  config::Errors errors;
  if (values.optimizer) set_updates(*values.optimizer, {}, model, errors);
  const RunWeights of_run = weights_of(run.named);
  const StoredTensors weights = read_exported_weights(of_run, model);
  const Wiring wiring = wiring_of(*values.model);
  data::Adapted adapted = run.adapted.value_or(data::Adapted{});
  const ScratchFolder folder("cannot make a folder for the file");
  const fs::path named = fs::path(options.file).filename();
  const fs::path file = folder.path() / (named.empty() ? fs::path(values.name.text + ".keras") : named);
  const std::vector<std::string> remarks = keras::write_keras_model(
      file, {.name = values.name.text,
             .model = *values.model,
             .wiring = wiring,
             .built = model,
             .preprocessing =
                 options.raw ? std::vector<data::PreprocessingStep>() : adapted_preprocessing(run.checked, adapted),
             .table = options.raw || !adapted.table ? nullptr : &*adapted.table,
             .objectives = run.checked.objectives,
             .optimizer = values.optimizer ? &*values.optimizer : nullptr,
             .gradients = {values.gradients.clip_norm, values.gradients.clip_value, values.gradients.accumulate_steps},
             .precision = values.training.precision,
             .weights = weights,
             .optimizer_state = optimizer_state_of(run, of_run)});
  if (values.optimizer && average_weights(*values.optimizer) && of_run.file == run.named.folder.model()) {
    spdlog::warn(
        "optimizer: the weights are their moving averages, from which fit in Keras continues, as after its own fit; "
        "those that were trained are in {}",
        run.named.folder.checkpoints().string());
  }
  for (const std::string& remark : remarks) spdlog::warn("{}", remark);
  return read_text_file(file);
}

}  // namespace mirrortrain
