#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "data/preprocessing/preprocessing.h"
#include "data/tables/adapted.h"
#include "model/model.h"
#include "model/model_options.h"
#include "model/objective.h"
#include "model/optimizers.h"
#include "model/precision.h"
#include "model/wiring.h"

namespace mirrortrain::keras {

/// How gradients are treated before the optimizer takes them, which Keras's optimizers do themselves.
struct GradientTreatment {
  std::optional<double> clip_norm, clip_value;
  std::int64_t accumulate_steps = 1;
};

/// An optimizer's state between two steps.
struct OptimizerState {
  std::int64_t updates = 0;               ///< of the weights
  std::int64_t accumulated_steps = 0;     ///< since the last one
  std::optional<double> learning_rate{};  ///< of the next step; none: a schedule's
  StoredTensors tensors{};                ///< as checkpoints call them: optimizer/SLOT/VARIABLE, accumulated/VARIABLE
};

/// What becomes a .keras file. References outlive the call.
struct KerasExport {
  std::string name;
  const ModelOptions& model;  ///< with blocks expanded
  const Wiring& wiring;       ///< of its layers
  const Model& built;         ///< for the shapes of its layers
  /// The steps of data.preprocessing, adapted ones with their values; none: the model takes what its layers take. Those
  /// that are random, or of labels, are left out.
  std::vector<data::PreprocessingStep> preprocessing;
  /// The table whose cells the model takes, by inputs for its columns; null: the numbers made of them.
  const data::AdaptedTable* table = nullptr;
  /// Of the inputs' examples before the preprocessing; none: as far as it follows from the layers.
  std::vector<Shape> example_shapes{};
  const std::vector<Objective>& objectives;  ///< of its outputs
  const Optimizers* optimizer = nullptr;     ///< null: the model is not compiled
  GradientTreatment gradients{};
  Precision precision = Precision::kFloat32;
  const StoredTensors& weights;                     ///< every variable of the model, float32
  std::optional<OptimizerState> optimizer_state{};  ///< none: fit begins with a new one
};

/// Writes an archive that keras.saving.load_model (Keras 3) loads without custom objects: the same layers and weights,
/// the same outputs, compiled with loss, metrics and optimizer, with its state. It appears under its name complete
/// or not at all; the same model gives the same bytes. Throws UsageError with all that Keras cannot say, by the layers'
/// names, and Error where the file cannot be written, or this program was built without HDF5. Returns remarks on what
/// Keras does otherwise.
std::vector<std::string> write_keras_model(const std::filesystem::path& path, const KerasExport& what);

}  // namespace mirrortrain::keras
