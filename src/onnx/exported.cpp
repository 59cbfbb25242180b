#include "onnx/exported.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "onnx/builder.h"
#include "onnx/inputs/resizing.h"
#include "onnx/inputs/steps.h"
#include "onnx/inputs/table.h"
#include "onnx/lowering.h"
#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

/// For each node whether an output depends on it.
std::vector<bool> live_nodes(const ModelGraph& model) {
  const mirrortrain::Graph& graph = model.graph;
  std::vector<bool> live(graph.nodes().size(), false);
  std::vector<ValueId> wanted;
  for (const ModelOutput& output : model.outputs) wanted.push_back(output.value);
  while (!wanted.empty()) {
    const ValueId id = wanted.back();
    wanted.pop_back();
    if (id == kNoValue || graph.value(id).source != mirrortrain::Graph::Source::kNode) continue;
    const auto node = static_cast<std::size_t>(graph.value(id).producer);
    if (live[node]) continue;
    live[node] = true;
    wanted.insert(wanted.end(), graph.nodes()[node].inputs.begin(), graph.nodes()[node].inputs.end());
  }
  return live;
}

std::vector<std::variant<std::int64_t, std::string>> with_batch(const Ints& dims) {
  std::vector<std::variant<std::int64_t, std::string>> all{"batch"};
  const bool are_pictures = std::ranges::count(dims, kAnyExtent) == 2;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kAnyExtent) {
      all.emplace_back(!are_pictures ? "numbers" : i == 0 ? "height" : "width");
    } else {
      all.emplace_back(dims[i]);
    }
  }
  return all;
}

class Export {
 public:
  Export(const Exported& exported, std::vector<std::string>& refused)
      : exported_(exported), refused_(refused), builder_(exported.name) {}

  Graph run() {
    // The names that the user knows come first, so that no node takes them.
    for (const ExportedOutput& output : exported_.outputs) {
      for (const std::string& name : {output.name, output.probabilities_name}) {
        if (!name.empty()) builder_.unique(name);
      }
    }
    for (const ExportedInput& input : exported_.inputs) {
      if (has_one_of_its_own(input)) builder_.unique(input.name);
    }
    add_weights();
    std::vector<std::string> values;
    for (const ExportedInput& input : exported_.inputs) values.push_back(add(input));
    if (!refused_.empty()) {
      // What the layers read is not known, but which of them have no operators is.
      std::ranges::replace(values, std::string(), std::string("refused"));
    }
    add_layers(values);
    return builder_.take();
  }

 private:
  /// Whether it is an input of the file; else its columns of words are.
  bool has_one_of_its_own(const ExportedInput& input) const {
    if (input.columns == nullptr || !std::holds_alternative<data::TableInput::Numbers>(input.columns->content))
      return true;
    return std::ranges::any_of(exported_.table->columns_of(*input.columns),
                               [](const auto* column) { return !column->is_category(); });
  }

  void add_weights() {
    for (const ValueId id : exported_.model->variables) {
      const auto& value = exported_.model->graph.value(id);
      const StoredTensor& stored = exported_.weights->find(value.name)->second;
      const std::span<const float> elements = stored.span<float>();
      builder_.add_initializer(value.name, floats(value.spec.shape.dims(), elements));
    }
  }

  /// Returns the value that the layers read.
  std::string add(const ExportedInput& input) {
    Prepared examples = read(input);
    if (examples.value.empty()) return "";
    examples = preprocessed(builder_, std::move(examples), input.steps, input.shape, refused_);
    if (examples.dims == input.shape.dims()) return examples.value;
    Ints target = input.shape.dims();
    target.insert(target.begin(), 0);
    return builder_.reshape(examples.value, target);
  }

  Prepared read(const ExportedInput& input) {
    builder_.set_scope(input.name);
    const bool has_numbers =
        input.columns != nullptr && !std::holds_alternative<data::TableInput::Pictures>(input.columns->content);
    if (has_numbers) return table().read(input.name, *input.columns, refused_);
    const Ints dims = input.decoded_channels > 0 ? Ints{kAnyExtent, kAnyExtent, input.decoded_channels}
                                                 : data::shape_before(input.steps, input.shape);
    builder_.add_input({input.name, ElementType::kFloat, with_batch(dims)});
    Prepared pictures{input.name, dims};
    if (input.read_size) pictures = resized_when_read(builder_, pictures, (*input.read_size)[0], (*input.read_size)[1]);
    return pictures;
  }

  TableColumns& table() {
    if (!table_) table_.emplace(builder_, *exported_.table);
    return *table_;
  }

  void add_layers(const std::vector<std::string>& inputs) {
    const ModelGraph& model = *exported_.model;
    Lowering lowering(model.graph, builder_, inputs.front());
    for (std::size_t i = 0; i < inputs.size(); ++i) lowering.set(model.inputs[i].value, inputs[i]);
    for (const ValueId id : model.variables) lowering.set(id, model.graph.value(id).name);
    const std::vector<bool> live = live_nodes(model);
    std::set<std::string> named;
    bool any_missing = false;
    for (std::size_t i = 0; i < live.size(); ++i) {
      if (!live[i]) continue;
      const mirrortrain::Node& node = model.graph.nodes()[i];
      builder_.set_scope(node.layer);
      try {
        operators().lower(lowering, node);
      } catch (const NotInOnnx& error) {
        any_missing = true;
        for (const ValueId output : node.outputs) lowering.set(output, "refused");
        if (named.insert(node.layer).second)
          refused_.push_back(fmt::format("layer '{}': {}", node.layer, error.what()));
      }
    }
    if (any_missing) return;
    for (std::size_t i = 0; i < exported_.outputs.size(); ++i) add(exported_.outputs[i], model.outputs[i], lowering);
  }

  void add(const ExportedOutput& output, const ModelOutput& of, Lowering& lowering) {
    const std::string value = lowering.value(of.value);
    const ValueSpec& spec = lowering.spec(of.value);
    builder_.set_scope(output.name);
    builder_.name_output(value, output.name);
    builder_.add_output({output.name, ElementType::kFloat, with_batch(spec.shape.dims())});
    if (output.probabilities == Probabilities::kNone) return;
    std::string probabilities = value;
    if (output.probabilities == Probabilities::kSigmoid) probabilities = builder_.add("Sigmoid", {value});
    if (output.probabilities == Probabilities::kSoftmax) {
      probabilities = builder_.add("Softmax", {value}, {{"axis", std::int64_t{-1}}});
    }
    builder_.name_output(probabilities, output.probabilities_name);
    builder_.add_output({output.probabilities_name, ElementType::kFloat, with_batch(spec.shape.dims())});
  }

  const Exported& exported_;
  std::vector<std::string>& refused_;
  Builder builder_;
  std::optional<TableColumns> table_;
};

}  // namespace

Graph to_graph(const Exported& exported, std::vector<std::string>& refused) { return Export(exported, refused).run(); }

}  // namespace mirrortrain::onnx
