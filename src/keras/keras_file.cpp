#include "keras/keras_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "data/files/zip.h"
#include "keras/weight_paths.h"

namespace mirrortrain::keras {
namespace {

constexpr std::string_view kWeights = "model.weights.h5";

std::vector<std::byte> read_bytes(data::Input& input) {
  constexpr std::size_t kPart = std::size_t{1} << 20;
  std::vector<std::byte> bytes;
  for (std::size_t done = 0;;) {  // grows with what is there, whatever the directory announces
    bytes.resize(done + kPart);
    const std::size_t count = input.read(std::span(bytes).subspan(done));
    done += count;
    if (count < kPart) {
      bytes.resize(done);
      return bytes;
    }
  }
}

/// Gives the weights of a whole-model .h5 the groups of the layers of `model`, each in the order of layer.weights.
Hdf5Contents with_groups(Hdf5Contents stored, const Json& model) {
  Hdf5Contents result;
  std::map<std::string, int> counts;
  const auto object = as_object(model);
  const Json& layers = at(object ? *object->config : model, "layers");
  if (!layers.is_array()) return result;
  for (const Json& layer : layers) {
    const std::string type = snake_case(text_at(layer, "class_name"));
    const int number = counts[type]++;
    std::string name = text_at(layer, "name");
    if (name.empty()) name = text_at(at(layer, "config"), "name");
    const std::string from = "model_weights/" + name;
    const auto texts = stored.texts.find(from);
    if (texts == stored.texts.end()) continue;
    const std::vector<std::string>& names = texts->second["weight_names"];
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto found = stored.datasets.find(from + "/" + names[i]);
      if (found == stored.datasets.end()) continue;
      result.datasets[fmt::format("layers/{}{}/ordered/{}", type, number == 0 ? "" : fmt::format("_{}", number), i)] =
          std::move(found->second);
    }
  }
  return result;
}

KerasFile read_legacy(const std::string& path) {
  KerasFile file;
  Hdf5Contents stored = read_hdf5(std::filesystem::path(path));
  const std::string config = stored.text("", "model_config");
  if (config.empty()) {
    throw Error(
        fmt::format("{}: expected a whole model, found weights alone; give them as model.initial_weights of a "
                    "configuration, or save the model with model.save('x.keras')",
                    path));
  }
  file.model = parse_json(config, path + ": model_config");
  if (const std::string compiled = stored.text("", "training_config"); !compiled.empty()) {
    file.compiled = parse_json(compiled, path + ": training_config");
    if (file.compiled.contains("optimizer_config")) file.compiled["optimizer"] = file.compiled["optimizer_config"];
  }
  file.version = stored.text("", "keras_version");
  file.weights = with_groups(std::move(stored), file.model);
  return file;
}

}  // namespace

KerasFile read_keras_archive(const std::string& path) {
  const data::Zip zip(path);
  const auto has = [&](std::string_view name) { return std::ranges::count(zip.names(), name) > 0; };
  if (!has("config.json")) {
    throw Error(fmt::format(
        "{}: expected a model as model.save('x.keras') writes it, found an archive without config.json", path));
  }
  const auto label = [&](std::string_view name) { return fmt::format("{}: {}", path, name); };
  KerasFile file;
  Json config = parse_json(data::read_text(*zip.open("config.json", label("config.json"))), label("config.json"));
  if (!as_object(config))
    throw Error(fmt::format("{}: expected a model, found {}", label("config.json"), described(config)));
  file.compiled = at(config, "compile_config");
  file.model = std::move(config);
  if (has("metadata.json")) {
    file.version =
        text_at(parse_json(data::read_text(*zip.open("metadata.json", label("metadata.json"))), label("metadata.json")),
                "keras_version");
  }
  if (!has(kWeights)) {
    throw Error(fmt::format("{}: it holds no {}; {}", path, kWeights,
                            has("model.weights.npz")
                                ? "install h5py where Keras saves it, which then writes that in place "
                                  "of model.weights.npz"
                                : "it is incomplete, save the model again"));
  }
  file.weights = read_hdf5(read_bytes(*zip.open(std::string(kWeights), label(kWeights))), label(kWeights));
  return file;
}

bool is_keras_file(const std::filesystem::path& path) {
  const std::string name = in_lower_case(path.filename().string());
  const bool is_hdf5 = name.ends_with(".h5") || name.ends_with(".hdf5");
  return name.ends_with(".keras") || (is_hdf5 && !name.ends_with(".weights.h5"));
}

KerasFile read_keras_file(const std::filesystem::path& path) {
  require_hdf5(path.string());
  return in_lower_case(path.extension().string()) == ".keras" ? read_keras_archive(path.string())
                                                              : read_legacy(path.string());
}

}  // namespace mirrortrain::keras
