#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/version.h"
#include "data/loading/picture_form.h"
#include "onnx/exported.h"
#include "onnx/onnx_file.h"
#include "train/checkpoint/checkpoint_folder.h"
#include "train/export/export_run.h"
#include "train/export/exported_weights.h"
#include "train/inference/prediction.h"
#include "train/session/run.h"
#include "train/session/run_data.h"

namespace mirrortrain {
namespace {

onnx::Probabilities probabilities_of(const OutputMeaning& meaning) {
  if (!meaning.has_probabilities()) return onnx::Probabilities::kNone;
  if (!meaning.is_logits) return onnx::Probabilities::kAsTheyAre;
  return meaning.kind == OutputMeaning::Kind::kClasses ? onnx::Probabilities::kSoftmax : onnx::Probabilities::kSigmoid;
}

void add_inputs(const TrainedRun& run, const Model& model, bool raw, onnx::Exported& exported) {
  const CheckedConfiguration& checked = run.checked;
  data::Adapted adapted = run.adapted.value_or(data::Adapted{});
  const std::vector<data::PreprocessingStep> steps =
      raw ? std::vector<data::PreprocessingStep>() : adapted_preprocessing(checked, adapted);
  exported.table = run.adapted && run.adapted->table ? &*run.adapted->table : nullptr;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    onnx::ExportedInput input{model.inputs[i], checked.examples.inputs[i].shape};
    if (!raw) {
      input.steps = data::steps_of_input(steps, input.name);
      if (exported.table != nullptr) input.columns = exported.table->find_input(input.name);
      const auto form = data::picture_form(checked.values().data.train.value, input.columns, input.name);
      if (form) {
        input.decoded_channels = form->color == data::PictureColor::kGray ? 1 : 3;
        input.read_size = form->image_size;
      }
    }
    exported.inputs.push_back(std::move(input));
  }
}

void add_outputs(const std::vector<OutputMeaning>& meanings, onnx::Exported& exported) {
  std::vector<std::string> inputs;
  for (const onnx::ExportedInput& input : exported.inputs) inputs.push_back(input.name);
  const std::vector<std::string> names = names_of_probabilities(meanings, inputs);
  for (std::size_t i = 0; i < meanings.size(); ++i) {
    exported.outputs.push_back({meanings[i].layer, probabilities_of(meanings[i]), names[i]});
  }
}

/// A list of names, or one for each of several outputs that have any.
std::string classes_json(const std::vector<OutputMeaning>& meanings) {
  nlohmann::ordered_json all;
  for (const OutputMeaning& meaning : meanings) {
    if (!meaning.tells_classes() || meaning.classes.empty()) continue;
    if (meanings.size() == 1) {
      all = meaning.classes;
    } else {
      all[meaning.layer] = meaning.classes;
    }
  }
  return all.is_null() ? "" : json_text(all);
}

std::optional<std::int64_t> epoch_of(const TrainedRun& run, const RunWeights& weights) {
  try {
    if (weights.file != run.named.folder.model()) {
      return read_checkpoint_state(weights.file.parent_path()).training.position.epoch;
    }
    const auto summary = parse_json<nlohmann::json>(read_text_file(run.named.folder.summary()));
    return summary.at("epoch").get<std::int64_t>();
  } catch (const std::exception&) {  // the weights are whole, and so is what they compute
    return std::nullopt;
  }
}

std::map<std::string, std::string> metadata_of(const TrainedRun& run, const RunWeights& weights,
                                               std::uint32_t weights_crc32,
                                               const std::vector<OutputMeaning>& meanings) {
  std::map<std::string, std::string> metadata{{"run", run.checked.values().name.text},
                                              {"weights_crc32", fmt::format("{:08x}", weights_crc32)}};
  if (weights.step > 0) metadata["step"] = std::to_string(weights.step);
  if (const auto epoch = epoch_of(run, weights)) metadata["epoch"] = std::to_string(*epoch);
  if (const std::string classes = classes_json(meanings); !classes.empty()) metadata["classes"] = classes;
  return metadata;
}

}  // namespace

std::string onnx_bytes(const TrainedRun& run, const ExportOptions& options) {
  if (const std::string absent = onnx::why_absent(); !absent.empty()) {
    throw UsageError("this program cannot write ONNX files: " + absent);
  }
  const Model model = whole_model(run.checked);
  const RunWeights weights = weights_of(run.named);
  std::uint32_t weights_crc32 = 0;
  StoredTensors stored = read_exported_weights(weights, model, &weights_crc32);
  if (run.checked.values().training.precision != Precision::kFloat32) {
    spdlog::warn(
        "the run computed in bfloat16, and the file computes in float32, so results differ in the last digits");
  }
  const std::vector<OutputMeaning> meanings = output_meanings(run.checked, run.adapted ? &*run.adapted : nullptr);
  onnx::Exported exported;
  exported.name = run.checked.values().name.text;
  exported.model = &model.evaluation;
  exported.weights = &stored;
  add_inputs(run, model, options.raw, exported);
  add_outputs(meanings, exported);
  std::vector<std::string> refused;
  onnx::Model file{onnx::to_graph(exported, refused), kVersion, metadata_of(run, weights, weights_crc32, meanings)};
  if (!refused.empty()) {
    const bool inputs_alone =
        std::ranges::none_of(refused, [](const std::string& line) { return line.starts_with("layer "); });
    throw UsageError(fmt::format("{}: ONNX cannot express {} of it{}:\n  {}", run.named.folder.path.string(),
                                 refused.size() == 1 ? "a part" : fmt::format("{} parts", refused.size()),
                                 inputs_alone && !options.raw ? "; --raw leaves out the preprocessing" : "",
                                 fmt::join(refused, "\n  ")));
  }
  stored.clear();  // what is written has copies
  return onnx::file_bytes(std::move(file));
}

}  // namespace mirrortrain
