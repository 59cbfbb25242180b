#include "train/checkpoint/weights_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "keras/json.h"
#include "keras/reading/keras_file.h"
#include "keras/reading/named_weights.h"
#include "onnx/onnx_weights.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

/// {"weight_map": {"h.0.weight": "model-00001-of-00002.safetensors", ...}}: each tensor with its file, which is beside
/// the index.
StoredTensors read_shards(const std::string& index) {
  const keras::Json json = keras::parse_json(read_text_file(index), index);
  const keras::Json& map = keras::at(json, "weight_map");
  if (!map.is_object() || map.empty()) {
    throw Error(fmt::format("{}: expected an index of safetensors files, with a weight_map, found none", index));
  }
  std::map<std::string, std::vector<std::string>> by_file;
  for (const auto& [tensor, file] : map.items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find('/') != name.npos || !name.ends_with(".safetensors")) {
      throw Error(fmt::format("{}: {}: expected the name of a safetensors file beside it, found {}", index,
                              shortened(tensor, 200), keras::described(file)));
    }
    by_file[name].push_back(tensor);
  }
  StoredTensors all;
  for (const auto& [name, tensors] : by_file) {
    const std::string path = (fs::path(index).parent_path() / name).string();
    StoredTensors shard = read_safetensors(path);
    for (const std::string& tensor : tensors) {
      const auto found = shard.find(tensor);
      if (found == shard.end()) {
        throw Error(fmt::format("{}: there is no tensor '{}' in it, which {} says; get the files again", path,
                                shortened(tensor, 200), index));
      }
      all[tensor] = std::move(found->second);
    }
  }
  return all;
}

StoredTensors named(keras::Hdf5Contents weights, const std::vector<keras::LayerOrigin>& origins, Strategy& strategy,
                    const std::set<std::string>& names) {
  keras::keep_weights_of_layers(weights);
  std::vector<keras::VariableShape> variables;
  strategy.read_variables(Lasting::kNone, [&](const LastingVariable& variable) {
    variables.push_back({variable.value.name(), variable.value.shape()});
  });
  return keras::named_weights(std::move(weights), origins, variables, names);
}

}  // namespace

bool is_onnx_file(const std::string& file) { return in_lower_case(file).ends_with(".onnx"); }

namespace {

/// What to do about a path of model.initial_weights that is no file, before a reader of one kind of files refuses it.
void require_file(const std::string& file) {
  std::error_code unknown;
  const fs::file_status status = fs::status(file, unknown);
  if (status.type() == fs::file_type::not_found) {
    throw Error(
        fmt::format("{}: there is no such file; correct the path: one in a file begins at the file's folder, one "
                    "of --set where the program runs",
                    file));
  }
  if (!fs::is_directory(status)) return;
  const fs::path of_run = fs::path(file) / "model.safetensors";
  throw Error(fmt::format("{}: it is a folder; name a file of weights{}", file,
                          fs::exists(of_run, unknown) ? ", as " + of_run.string() : ""));
}

}  // namespace

StoredTensors read_weights_file(const std::string& file, Strategy& strategy, const std::set<std::string>& names) {
  require_file(file);
  const std::string name = in_lower_case(fs::path(file).filename().string());
  if (name.ends_with(".index.json")) return read_shards(file);
  if (name.ends_with(".weights.h5")) {
    keras::Hdf5Contents weights = keras::read_hdf5(fs::path(file));
    const std::vector<keras::LayerOrigin> origins = keras::origins_in(weights);
    return named(std::move(weights), origins, strategy, names);
  }
  if (keras::is_keras_file(file)) {
    keras::KerasFile model = keras::read_keras_file(file);
    return named(std::move(model.weights), keras::origins_in(model.model), strategy, names);
  }
  return is_onnx_file(file) ? onnx::read_onnx_weights(file) : read_safetensors(file);
}

}  // namespace mirrortrain
