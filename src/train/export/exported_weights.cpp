#include "train/export/exported_weights.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string>
#include <utility>
#include <vector>

#include "model/build_model.h"
#include "train/checkpoint/weights.h"

namespace mirrortrain {
namespace {

void require_fit(const Model& model, const StoredTensors& stored, const std::string& file) {
  std::vector<std::string> mismatches;
  for (const ModelVariable& variable : model.variables) {
    const auto found = stored.find(variable.spec.name);
    if (found == stored.end()) {
      mismatches.push_back(fmt::format("{} {} is missing", variable.spec.name, variable.spec.shape.text()));
    } else if (found->second.shape != variable.spec.shape || found->second.dtype != DType::kFloat32) {
      mismatches.push_back(fmt::format("{}: the model has float32 {}, the file {} {}", variable.spec.name,
                                       variable.spec.shape.text(), name_of(found->second.dtype),
                                       found->second.shape.text()));
    }
  }
  throw_mismatches(file, std::move(mismatches));
}

}  // namespace

Model whole_model(const CheckedConfiguration& checked) {
  const Configuration& values = checked.values();
  config::Errors errors;
  const Wiring wiring = wiring_of(*values.model);
  Model model = build_model(*values.model, wiring, checked.objectives, Precision::kFloat32, errors);
  errors.throw_if_any();
  return model;
}

StoredTensors read_exported_weights(const RunWeights& weights, const Model& model, std::uint32_t* crc32) {
  spdlog::info("weights: {}", weights.file.string());
  StoredTensors stored = read_run_weights(weights, crc32);
  require_fit(model, stored, weights.file.string());
  return stored;
}

}  // namespace mirrortrain
