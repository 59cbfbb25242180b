#include "keras/writing/write_keras_model.h"

#include <fmt/format.h>

#include "base/json.h"
#include "data/files/zip_writer.h"
#include "keras/hdf5/hdf5.h"
#include "keras/problems.h"
#include "keras/writing/write_layers.h"
#include "keras/writing/write_optimizer_state.h"
#include "keras/writing/write_training.h"

namespace mirrortrain::keras {
namespace {

/// The version whose format the file has. No time or place: the same model gives the same bytes.
constexpr const char* kMetadata = R"({"keras_version": "3.15.1", "date_saved": ""})";

}  // namespace

std::vector<std::string> write_keras_model(const std::filesystem::path& path, const KerasExport& what) {
  require_hdf5(path.string());
  Problems problems;
  std::vector<std::string> remarks;
  WrittenModel model = write_layers(what, problems, remarks);
  const Json compiled = compile_json(what, problems, remarks);
  problems.throw_if_any(path.filename().string());
  Json config = {{"module", "keras.src.models.functional"},
                 {"class_name", "Functional"},
                 {"config", std::move(model.config)},
                 {"registered_name", "Functional"},
                 {"build_config", {{"input_shape", nullptr}}}};
  if (!compiled.is_null()) config["compile_config"] = compiled;
  model.weights.merge(write_optimizer_state(what, model.trainable, remarks));
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : model.weights) tensors.push_back({name, tensor.dtype, tensor.shape, tensor.data});
  const std::vector<std::byte> weights = write_hdf5(tensors, model.names);
  data::ZipWriter archive(path);
  const auto add = [&](const char* name, std::string_view bytes) { archive.write(archive.add(name), bytes); };
  add("metadata.json", kMetadata);
  add("config.json", json_text(config));
  add("model.weights.h5", {reinterpret_cast<const char*>(weights.data()), weights.size()});
  archive.finish();
  return remarks;
}

}  // namespace mirrortrain::keras
