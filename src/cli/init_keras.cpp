#include "cli/init_keras.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/safetensors.h"
#include "base/utf8.h"
#include "cli/trial_errors.h"
#include "config/document.h"
#include "config/scalar.h"
#include "data/first_look/folded_line.h"
#include "keras/problems.h"
#include "keras/reading/convert_model.h"
#include "keras/reading/convert_training.h"
#include "keras/reading/keras_file.h"
#include "keras/reading/named_weights.h"
#include "model/losses.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;
using config::Value;
using Entries = std::vector<Value::Entry>;

Value number(std::int64_t value) { return Value::scalar(std::to_string(value), false); }

Value shape_value(const std::vector<std::int64_t>& dims) {
  std::vector<Value> items;
  for (const std::int64_t extent : dims) items.push_back(number(extent));
  return Value::sequence(std::move(items));
}

/// Everything that becomes the configuration.
struct Conversion {
  keras::ConvertedModel model;
  keras::ConvertedTraining training;
  std::string name, version;
  bool has_loss = true;
};

Value model_section(const Conversion& from, const std::string& weights) {
  Entries entries;
  const auto& inputs = from.model.inputs;
  if (inputs.size() == 1 && !inputs[0].model.empty()) {
    entries.push_back({"input_shape", {}, shape_value(inputs[0].model)});
  } else {
    Entries all;
    for (const keras::ConvertedInput& input : inputs) {
      all.push_back({input.name, {}, Value::mapping({{"shape", {}, shape_value(input.model)}})});
    }
    entries.push_back({"inputs", {}, Value::mapping(std::move(all))});
  }
  if (from.model.names_outputs) {
    std::vector<Value> outputs;
    for (const std::string& output : from.model.outputs) outputs.push_back(config::text_value(output));
    entries.push_back({"outputs", {}, Value::sequence(std::move(outputs))});
  }
  if (!weights.empty()) entries.push_back({"initial_weights", {}, config::text_value(weights)});
  if (!from.model.blocks.is_null()) entries.push_back({"blocks", {}, from.model.blocks});
  entries.push_back({"layers", {}, from.model.layers});
  return Value::mapping(std::move(entries));
}

/// The synthetic labels of an output: `model` is null, or incomplete, until the first look at the configuration.
Value labels_of(const Model* model, std::size_t output, const std::vector<Objective>& objectives) {
  if (model == nullptr || output >= model->training.outputs.size() || output >= objectives.size() ||
      model->training.outputs[output].labels == kNoValue) {
    return Value::mapping({{"label_shape", {}, shape_value({1})}});
  }
  const ValueSpec& spec = model->training.graph.spec(model->training.outputs[output].labels);
  constexpr std::int64_t kGroups = 10;  // of the examples of losses for which any number is one
  const Targets targets = targets_of(objectives[output].loss.value);
  const std::int64_t classes =
      targets == Targets::kGroups ? kGroups : model->outputs[output].largest_label.value_or(0) + 1;
  Entries entries;
  if (targets != Targets::kNumbers) {
    entries.push_back({"classes", {}, number(spec.dtype == DType::kInt32 ? std::max<std::int64_t>(classes, 2) : 2)});
  }
  if (targets == Targets::kNumbers || spec.shape.rank() > 0) {
    entries.push_back({"label_shape", {}, shape_value(spec.shape.dims())});
  }
  return Value::mapping(std::move(entries));
}

Value data_section(const Conversion& from, const Model* model, const std::vector<Objective>& objectives) {
  constexpr std::int64_t kExamples = 256, kBatch = 32;
  Entries train = {{"format", {}, config::text_value("synthetic")}, {"examples", {}, number(kExamples)}};
  Entries inputs;
  bool any_below = false;
  for (std::size_t i = 0; i < from.model.inputs.size(); ++i) {
    const keras::ConvertedInput& input = from.model.inputs[i];
    Entries one = {{"shape", {}, shape_value(input.data)}};
    const auto below =
        model != nullptr && i < model->training.inputs.size() ? model->training.inputs[i].numbers_below : std::nullopt;
    if (below) one.push_back({"below", {}, number(*below)}), any_below = true;
    inputs.push_back({input.name, {}, Value::mapping(std::move(one))});
  }
  if (inputs.size() == 1 && !any_below && !from.model.inputs[0].data.empty()) {
    train.push_back({"shape", {}, shape_value(from.model.inputs[0].data)});
  } else {
    train.push_back({"inputs", {}, Value::mapping(std::move(inputs))});
  }
  Entries labels;
  for (std::size_t i = 0; i < from.model.outputs.size(); ++i) {
    labels.push_back({from.model.outputs[i], {}, labels_of(model, i, objectives)});
  }
  if (labels.size() == 1) {
    for (Value::Entry& entry : labels[0].value.entries()) train.push_back(std::move(entry));
  } else {
    train.push_back({"labels", {}, Value::mapping(std::move(labels))});
  }
  Entries data = {{"global_batch_size", {}, number(kBatch)},
                  {"train", {}, Value::mapping(std::move(train))},
                  {"validation", {}, Value::mapping({{"fraction", {}, Value::scalar("0.2", false)}})}};
  if (!from.model.preprocessing.empty()) {
    data.push_back({"preprocessing", {}, Value::sequence(from.model.preprocessing)});
  }
  return Value::mapping(std::move(data));
}

Value loss_section(const Conversion& from) {
  if (from.has_loss) return from.training.loss;
  if (from.model.outputs.size() == 1) return config::text_value("mean_squared_error");
  Entries all;
  for (const std::string& output : from.model.outputs)
    all.push_back({output, {}, config::text_value("mean_squared_error")});
  return Value::mapping(std::move(all));
}

/// "{filters: 8, name: stem}", on one line.
std::string flow(const Value& value) {
  const std::string text = config::to_yaml(Value::sequence({value}));  // [...] and a line break
  return text.substr(1, text.size() - 3);
}

/// A key with its value on one line, which is folded where it is long.
std::string entry_text(std::size_t indent, const std::string& key, const Value& value) {
  return data::folded(fmt::format("{:{}}{}: {}", "", indent, key, flow(value)), indent + 4);
}

/// A list of layers, one on each line.
std::string layers_text(std::size_t indent, const Value& layers) {
  std::string text;
  for (const Value& layer : layers.items()) {
    const Value::Entry& only = layer.entries().front();
    text += data::folded(fmt::format("{:{}}- {}: {}", "", indent, only.key, flow(only.value)), indent + 4);
  }
  return text;
}

std::string model_text(const Value& model) {
  std::string text = "model:\n";
  for (const Value::Entry& entry : model.entries()) {
    if (entry.key == "layers") {
      text += "  layers:\n" + layers_text(4, entry.value);
    } else if (entry.key == "blocks") {
      text += "  blocks:\n";
      for (const Value::Entry& block : entry.value.entries()) {
        text += fmt::format("    {}:\n      layers:\n{}", flow(config::text_value(block.key)),
                            layers_text(8, block.value.find("layers")->value));
      }
    } else {
      text += entry_text(2, entry.key, entry.value);
    }
  }
  return text;
}

std::string data_text(const Value& data) {
  std::string text = "data:\n";
  for (const Value::Entry& entry : data.entries()) {
    if (entry.key != "preprocessing") {
      text += entry_text(2, entry.key, entry.value);
      continue;
    }
    text += "  preprocessing:\n";
    for (const Value& step : entry.value.items()) text += data::folded(fmt::format("    - {}", flow(step)), 8);
  }
  return text;
}

std::string comment(const std::string& text) { return "# " + shortened(text, 400) + "\n"; }

/// The whole file. `weights`: the name of the file beside it.
std::string configuration_text(const Conversion& from, const std::string& file, const std::string& weights,
                               const Model* model, const std::vector<Objective>& objectives) {
  std::string text = comment(fmt::format("Made by `mirrortrain init` of {}{}; every value may be changed.", file,
                                         from.version.empty() ? "" : ", which Keras " + from.version + " saved"));
  for (const std::string& remark : from.model.remarks) text += comment(remark);
  for (const std::string& warning : from.model.warnings) text += comment(warning);
  for (const std::string& remark : from.training.remarks) text += comment(remark);
  for (const std::string& warning : from.training.warnings) text += comment(warning);
  text += entry_text(0, "name", config::text_value(from.name)) + "seed: 1\n";
  text += comment("Synthetic data of fitting shapes, so that it runs as it is: name your own in place of `train`.");
  text += data_text(data_section(from, model, objectives));
  text += model_text(model_section(from, weights));
  if (!from.has_loss) text += comment("The model was not compiled: choose what it is to be trained for.");
  text += entry_text(0, "loss", loss_section(from));
  if (!from.training.metrics.is_null()) text += entry_text(0, "metrics", from.training.metrics);
  text += entry_text(0, "optimizer",
                     from.training.optimizer.is_null() ? config::text_value("adam") : from.training.optimizer);
  if (!from.training.gradients.is_null()) text += entry_text(0, "gradients", from.training.gradients);
  text += "strategy: {type: mirrored, devices: all}\n";
  text += from.model.is_bfloat16 ? "training: {epochs: 1, precision: mixed_bfloat16}\n" : "training: {epochs: 1}\n";
  return text;
}

/// A file for a look at a configuration that is not written yet, in the folder that it will be in.
class TrialFile {
 public:
  explicit TrialFile(const fs::path& folder)
      : path_((folder.empty() ? fs::path(".") : folder) / ".mirrortrain-init-XXXXXX.yaml") {
    std::string name = path_.string();
    const int descriptor = ::mkstemps(name.data(), 5);
    if (descriptor < 0) throw SystemError(fmt::format("{}: cannot be written: {}", name, std::strerror(errno)), errno);
    ::close(descriptor);
    path_ = name;
  }
  TrialFile(const TrialFile&) = delete;
  TrialFile& operator=(const TrialFile&) = delete;
  ~TrialFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  CheckedConfiguration look(const std::string& text, config::Errors& errors) const {
    write_file(path_, text);
    return look_at_configuration(path_.string(), {}, errors);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Conversion convert(const keras::KerasFile& file, const std::string& path) {
  keras::Problems problems;
  Conversion result;
  result.model = keras::convert_model(file.model, file.weights, problems);
  result.training = keras::convert_training(file.compiled, result.model.outputs, result.model.output_names, problems);
  problems.throw_if_any(path);
  result.has_loss = !result.training.loss.is_null();
  result.version = shortened(file.version, 20);
  return result;
}

/// The shape of each output; none where the model could not be built.
std::vector<Shape> output_shapes(const Model* model) {
  std::vector<Shape> shapes;
  if (model == nullptr) return shapes;
  for (const ModelOutput& output : model->training.outputs) {
    shapes.push_back(output.value == kNoValue ? Shape() : model->training.graph.spec(output.value).shape);
  }
  return shapes;
}

/// Throws UsageError with what the configuration's own checks find, in terms of the model's file.
void require_sound(const config::Errors& errors, const TrialFile& trial, const std::string& path) {
  if (errors.empty()) return;
  std::vector<std::string> said;
  for (const TrialError& error : trial_errors(errors, trial.path().string())) {
    said.push_back(error.key.empty() ? error.message
                                     : fmt::format("{}: as a configuration: {}: {}", path, error.key, error.message));
  }
  throw UsageError(fmt::format("{}", fmt::join(said, "\n")));
}

StoredTensor zeros_of(const Shape& shape) {
  StoredTensor tensor{DType::kFloat32, shape, {}};
  tensor.data.resize(static_cast<std::size_t>(shape.elements()) * sizeof(float));
  return tensor;
}

/// The values of all variables. Throws Error with each that the file does not have, or in another shape.
StoredTensors weights_of(keras::KerasFile& file, const Conversion& from, const Model& model, const std::string& path) {
  std::vector<keras::VariableShape> variables;
  for (const ModelVariable& variable : model.variables) variables.push_back({variable.spec.name, variable.spec.shape});
  StoredTensors found = keras::named_weights(std::move(file.weights), from.model.origins, variables);
  StoredTensors weights;
  std::string wrong;
  for (const keras::VariableShape& variable : variables) {
    const auto tensor = found.find(variable.name);
    if (tensor == found.end() && keras::is_of_lora(variable.name)) {
      weights[variable.name] = zeros_of(variable.shape);  // as Keras loads them
    } else if (tensor == found.end()) {
      wrong += fmt::format("\n  {} {} is missing", variable.name, variable.shape.text());
    } else if (tensor->second.shape != variable.shape || tensor->second.dtype != DType::kFloat32) {
      wrong += fmt::format("\n  {}: expected float32 {}, found {} {}", variable.name, variable.shape.text(),
                           name_of(tensor->second.dtype), tensor->second.shape.text());
    } else {
      weights[variable.name] = std::move(tensor->second);
    }
  }
  if (!wrong.empty()) {
    throw Error(
        fmt::format("{}: its weights do not fit its layers: either a layer has other weights than that of its name, or "
                    "two models within it share a layer, which Keras saves for one of them (give each its own), or the "
                    "file is damaged:{}",
                    path, wrong));
  }
  return weights;
}

}  // namespace

void init_from_keras(const std::string& path, const fs::path& output, bool is_stdout) {
  keras::KerasFile file = keras::read_keras_file(path);
  Conversion conversion = convert(file, path);
  const fs::path stem = output.empty() ? fs::path(path).stem() : output.stem();
  const fs::path folder = output.parent_path();
  const fs::path weights = folder / (stem.string() + ".safetensors");
  conversion.name = stem.string();
  if (fs::exists(weights)) {
    throw UsageError(
        fmt::format("{}: the file exists, and the weights go there; name another with --output", weights.string()));
  }
  const std::string name = fs::path(path).filename().string();
  const TrialFile trial(folder);
  config::Errors first;
  conversion.training.metrics = Value();  // what they are depends on the outputs' shapes
  const CheckedConfiguration shapes = trial.look(configuration_text(conversion, name, "", nullptr, {}), first);
  keras::Problems none;
  conversion.training = keras::convert_training(file.compiled, conversion.model.outputs, conversion.model.output_names,
                                                none, output_shapes(shapes.model.get()));
  const auto text_with_weights = [&] {
    return configuration_text(conversion, name, weights.filename().string(), shapes.model.get(), shapes.objectives);
  };
  config::Errors of_metrics;
  trial.look(text_with_weights(), of_metrics);
  leave_out_refused_metrics(trial_errors(of_metrics, trial.path().string()), conversion.training);
  const std::string text = text_with_weights();
  config::Errors errors;
  const CheckedConfiguration checked = trial.look(text, errors);
  require_sound(errors, trial, path);
  const StoredTensors values = weights_of(file, conversion, *checked.model, path);
  std::vector<NamedTensor> tensors;
  for (const auto& [variable, tensor] : values) tensors.push_back({variable, tensor.dtype, tensor.shape, tensor.data});
  write_safetensors(weights, std::move(tensors));
  for (const std::string& warning : conversion.model.warnings) spdlog::warn("{}: {}", path, warning);
  for (const std::string& warning : conversion.training.warnings) spdlog::warn("{}: {}", path, warning);
  if (is_stdout) {
    require_not_read("/dev/stdout");
    fmt::print("{}", text);
  } else {
    write_result(output, text);
  }
  fmt::print(stderr, "the weights are in {}\n", weights.string());
}

}  // namespace mirrortrain::cli
