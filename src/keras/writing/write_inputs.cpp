#include "keras/writing/write_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "keras/class_names.h"
#include "keras/writing/to_json.h"
#include "keras/writing/write_columns.h"

namespace mirrortrain::keras {
namespace {

using config::Value;

std::string type_of(const data::PreprocessingStep& step) {
  return config::visit([](const auto& held) { return std::string(held.kName); }, step);
}

/// The class of Keras's for a step that acts at every split; "" for one that is random, or of labels.
std::string class_of(const data::PreprocessingStep& step) { return class_named(type_of(step)); }

class InputsWriter {
 public:
  InputsWriter(const KerasExport& what, GraphWriter& graph, Problems& problems, std::vector<std::string>& remarks)
      : what_(what), graph_(graph), problems_(problems), remarks_(remarks) {}

  WrittenInputs write() {
    std::optional<ColumnsWriter> columns;
    if (what_.table != nullptr && changes_cells(*what_.table)) columns.emplace(graph_, *what_.table, remarks_);
    for (const ModelInputOptions& input : what_.model.all_inputs()) {
      std::vector<data::PreprocessingStep> steps = data::steps_of_input(what_.preprocessing, input.name);
      std::erase_if(steps, [](const auto& step) { return class_of(step).empty(); });
      const data::TableInput* const table = columns ? what_.table->find_input(input.name) : nullptr;
      const bool is_of_columns = table != nullptr && std::holds_alternative<data::TableInput::Numbers>(table->content);
      WrittenTensor value = is_of_columns ? columns->write(*table, input.shape) : add_input(input, steps);
      for (const data::PreprocessingStep& step : steps) value = add_step(step, value, input);
      sources_.push_back(value);
    }
    if (columns) inputs_.insert(inputs_.end(), columns->inputs().begin(), columns->inputs().end());
    return {std::move(inputs_), std::move(sources_)};
  }

 private:
  WrittenTensor add_input(const ModelInputOptions& input, const std::vector<data::PreprocessingStep>& steps) {
    const bool is_known = sources_.size() < what_.example_shapes.size() && !steps.empty();
    auto shape = extents_of(is_known ? what_.example_shapes[sources_.size()] : input.shape);
    for (const data::PreprocessingStep& step : steps) {
      if (config::holds_alternative<data::Resizing>(step) || config::holds_alternative<data::CenterCrop>(step)) {
        if (shape.size() >= 2 && !is_known) shape[0] = shape[1] = std::nullopt;  // pictures of any size
      }
      const data::Binning* const bins = data::as_binning(step);
      if (bins != nullptr && !is_known && bins->output_mode != data::BinOutput::kInt) {
        problems_.add("data.preprocessing",
                      "an output_mode but int changes the shape of examples, as the model's input does "
                      "not say; write the model without preprocessing");
      }
    }
    const std::string name = graph_.names().unique(input.name == "input" ? "inputs" : input.name);
    const bool is_hashed = !steps.empty() && config::holds_alternative<data::Hashing>(steps.front());
    inputs_.push_back(graph_.add_input(input.name == "input" ? "input" : name, shape, is_hashed ? "int64" : "float32"));
    return inputs_.back();
  }

  WrittenTensor add_step(const data::PreprocessingStep& step, const WrittenTensor& value,
                         const ModelInputOptions& input) {
    const config::Schema& schema = schema_of<data::PreprocessingStep>();
    const Value shown = config::Codec<data::PreprocessingStep>::show(step);
    const std::string type = type_of(step);
    const auto part = std::ranges::find(schema.parts, type, &config::Schema::name);
    Json config = shown.is_scalar()
                      ? Json::object()
                      : options_json(shown.entries().front().value, *part, fmt::format("data.preprocessing: {}", type),
                                     problems_, {"input", "adapt"});
    config["dtype"] = "float32";  // in whatever precision the layers compute
    if (config::holds_alternative<data::Hashing>(step)) {
      if (data::as_binning(step)->output_mode == data::BinOutput::kInt) config["dtype"] = "int64";
      if (value.dtype != "int64") {
        problems_.add(
            "data.preprocessing: hashing",
            "of numbers that other steps, or columns of a table, make: Keras hashes whole numbers of an input; "
            "make it the first step, or write the model without preprocessing");
      }
    }
    if (type == "rescaling" && !config.contains("offset")) config["offset"] = 0.0;  // which Keras reads, default or not
    return graph_.add(class_of(step), graph_.names().unique(fmt::format("{}_{}", input.name, type)), std::move(config),
                      Json::array({GraphWriter::tensor_json(value)}), input.shape);
  }

  const KerasExport& what_;
  GraphWriter& graph_;
  Problems& problems_;
  std::vector<std::string>& remarks_;
  std::vector<WrittenTensor> inputs_, sources_;
};

}  // namespace

WrittenInputs write_inputs(const KerasExport& what, GraphWriter& graph, Problems& problems,
                           std::vector<std::string>& remarks) {
  return InputsWriter(what, graph, problems, remarks).write();
}

}  // namespace mirrortrain::keras
