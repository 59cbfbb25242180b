#include "keras/reading/keras_file.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "data/files/zip.h"
#include "keras/problems.h"
#include "keras/reading/network.h"

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
/// Those of models within it are listed together, by names such as "tower/dense_1/kernel".
class LegacyWeights {
 public:
  explicit LegacyWeights(Hdf5Contents stored) : stored_(std::move(stored)) {}

  Hdf5Contents in_groups(const Json& model) {
    Problems ignored;
    for (const NetworkLayer& layer : read_network(model, ignored).layers) {
      const auto texts = stored_.texts.find("model_weights/" + layer.name);
      if (layer.is_operation() || texts == stored_.texts.end()) continue;
      const auto listed = texts->second.find("weight_names");
      if (listed != texts->second.end()) add(layer, listed->second, "model_weights/" + layer.name + "/", 0);
    }
    return std::move(result_);
  }

 private:
  void add(const NetworkLayer& layer, const std::vector<std::string>& names, const std::string& from, int level) {
    const std::optional<NetworkLayer> of_steps = layer.model_of_steps();
    if ((of_steps || layer.is_network()) && level < kMostNested) {
      Problems ignored;
      for (const NetworkLayer& inside : read_network(of_steps ? *of_steps : layer, ignored).layers) {
        if (!inside.is_operation()) add(inside, names_within(names, names_of(inside)), from, level + 1);
      }
      return;
    }
    const auto activation = layer.activation();
    if (activation) {
      std::vector<std::string> own = names_within(names, {activation->name_in_file});
      for (std::size_t i = 0; i < own.size(); ++i)
        take(from + own[i], fmt::format("{}/ordered/{}", activation->layer.group, i));
    }
    for (std::size_t i = 0; i < names.size(); ++i) take(from + names[i], fmt::format("{}/ordered/{}", layer.group, i));
  }

  /// The names that the weights of a layer within a model may begin with: its own, or those of the layers that it
  /// wraps.
  static std::vector<std::string> names_of(const NetworkLayer& layer) {
    std::vector<std::string> names = {layer.name};
    const Json* config = layer.config;
    for (int level = 0; level < 4; ++level) {
      for (const char* const wrapped : {"layer", "backward_layer"}) {
        const std::string name = text_at(at(at(*config, wrapped), "config"), "name");
        if (!name.empty()) names.push_back(name);
        // The backward layer of a Bidirectional that has none of its own.
        if (name.starts_with("forward_")) names.push_back("backward_" + name.substr(8));
      }
      config = &at(at(*config, "layer"), "config");
    }
    return names;
  }

  /// Those of the weights of a layer with one of these names.
  static std::vector<std::string> names_within(const std::vector<std::string>& names,
                                               const std::vector<std::string>& layers) {
    std::vector<std::string> within;
    for (const std::string& name : names) {
      const auto is_in = [&](const std::string& layer) {
        return !layer.empty() && ("/" + name).find("/" + layer + "/") != std::string::npos;
      };
      if (std::ranges::any_of(layers, is_in)) within.push_back(name);
    }
    return within;
  }

  void take(const std::string& from, const std::string& to) {
    const auto found = stored_.datasets.find(from);
    if (found == stored_.datasets.end()) return;
    result_.datasets[to] = std::move(found->second);
    stored_.datasets.erase(found);
  }

  Hdf5Contents stored_, result_;
};

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
  file.weights = LegacyWeights(std::move(stored)).in_groups(file.model);
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
  return name.ends_with(".keras") || (is_hdf5 && !is_weights_file(path));
}

bool is_weights_file(const std::filesystem::path& path) {
  return in_lower_case(path.filename().string()).ends_with(".weights.h5");
}

KerasFile read_keras_file(const std::filesystem::path& path) {
  require_hdf5(path.string());
  return in_lower_case(path.extension().string()) == ".keras" ? read_keras_archive(path.string())
                                                              : read_legacy(path.string());
}

}  // namespace mirrortrain::keras
