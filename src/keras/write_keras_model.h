#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "data/preprocessing/preprocessing.h"
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

/// What becomes a .keras file. References outlive the call.
struct KerasExport {
  std::string name;
  const ModelOptions& model;  ///< with blocks expanded
  const Wiring& wiring;       ///< of its layers
  const Model& built;         ///< for the shapes of its layers
  /// The steps of data.preprocessing, adapted ones with their values; none: the model takes what its layers take. Those
  /// that are random, or of labels, are left out.
  std::vector<data::PreprocessingStep> preprocessing;
  /// Of the inputs' examples before the preprocessing; none: as far as it follows from the layers.
  std::vector<Shape> example_shapes{};
  const std::vector<Objective>& objectives;  ///< of its outputs
  const Optimizers* optimizer = nullptr;     ///< null: the model is not compiled
  GradientTreatment gradients{};
  Precision precision = Precision::kFloat32;
  const StoredTensors& weights;  ///< every variable of the model, float32
};

/// Writes an archive that keras.saving.load_model (Keras 3) loads without custom objects: the same layers and weights,
/// the same outputs, compiled with loss, metrics and optimizer, whose state is new. It appears under its name complete
/// or not at all; the same model gives the same bytes. Throws UsageError with all that Keras cannot say, by the layers'
/// names, and Error where the file cannot be written, or this program was built without HDF5. Returns remarks on what
/// Keras does otherwise.
std::vector<std::string> write_keras_model(const std::filesystem::path& path, const KerasExport& what);

}  // namespace mirrortrain::keras
