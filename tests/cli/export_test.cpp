// What `export` writes: graphs that ONNX Runtime has computed (tests/golden/onnx), their bytes, names and refusals.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "cli/program.h"
#include "onnx/third_party/onnx.pb.h"

namespace mirrortrain::testing {
namespace {

std::string graph_text(const onnx::GraphProto& graph);

std::string type_text(int type) {
  const std::map<int, std::string> names{{1, "float"}, {6, "int32"}, {7, "int64"}, {8, "string"}, {9, "bool"}};
  return names.at(type);
}

template <class List, class Text>
std::string list_text(const List& list, const Text& text) {
  std::vector<std::string> all;
  for (const auto& one : list) all.push_back(text(one));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string text_of(const onnx::ValueInfoProto& value) {
  const auto& type = value.type().tensor_type();
  const std::string dims = list_text(type.shape().dim(), [](const auto& dim) {
    return dim.dim_param().empty() ? std::to_string(dim.dim_value()) : dim.dim_param();
  });
  return fmt::format("{}: {} {}", value.name(), type_text(type.elem_type()), dims);
}

std::string text_of(const onnx::TensorProto& tensor) {
  return type_text(tensor.data_type()) + " " + list_text(tensor.dims(), [](auto dim) { return std::to_string(dim); });
}

std::string text_of(const onnx::AttributeProto& attribute) {
  const auto real = [](float value) { return fmt::format("{:.6g}", value); };
  const auto word = [](const std::string& text) { return text; };
  switch (attribute.type()) {
    case onnx::AttributeProto::INT: return std::to_string(attribute.i());
    case onnx::AttributeProto::FLOAT: return real(attribute.f());
    case onnx::AttributeProto::STRING: return attribute.s();
    case onnx::AttributeProto::INTS:
      return list_text(attribute.ints(), [](auto value) { return std::to_string(value); });
    case onnx::AttributeProto::FLOATS: return list_text(attribute.floats(), real);
    case onnx::AttributeProto::STRINGS: return list_text(attribute.strings(), word);
    case onnx::AttributeProto::TENSOR: return text_of(attribute.t());
    default: break;
  }
  std::string inner = graph_text(attribute.g());
  for (std::size_t line = 0; line < inner.size(); line = inner.find('\n', line) + 1) inner.insert(line, "  ");
  return "{\n" + inner + "}";
}

/// As tools/reference/onnx_goldens.py writes it.
std::string graph_text(const onnx::GraphProto& graph) {
  std::string text;
  for (const auto& input : graph.input()) text += fmt::format("input {}\n", text_of(input));
  for (const auto& weight : graph.initializer()) text += fmt::format("{} = {}\n", weight.name(), text_of(weight));
  for (const onnx::NodeProto& node : graph.node()) {
    std::vector<std::string> attributes;
    for (const auto& one : node.attribute()) attributes.push_back(one.name() + "=" + text_of(one));
    text += fmt::format("{} = {}{}({}){}\n", fmt::join(node.output(), ", "),
                        node.domain().empty() ? "" : node.domain() + ".", node.op_type(), fmt::join(node.input(), ", "),
                        attributes.empty() ? "" : fmt::format(" {{{}}}", fmt::join(attributes, ", ")));
  }
  for (const auto& output : graph.output()) text += fmt::format("output {}\n", text_of(output));
  return text;
}

onnx::ModelProto model_in(const fs::path& file) {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(read_text_file(file)));
  return model;
}

std::map<std::string, std::string> metadata_of(const onnx::ModelProto& model) {
  std::map<std::string, std::string> metadata;
  for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
  return metadata;
}

std::vector<std::string> names_of(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.push_back(value.name());
  return names;
}

/// Trains a golden configuration as `run`.
void fit_golden(const TemporaryFolder& folder, const std::string& name, const std::string& more = "") {
  const std::string config = repository_file("tests/golden/onnx/" + name + ".yaml");
  const Outcome fitted = run_program(folder, fmt::format("fit '{}' --run-dir run -q {}", config, more));
  REQUIRE_MESSAGE(fitted.exit_code == 0, fitted.err);
}

}  // namespace

TEST_CASE("exported graphs are those that ONNX Runtime has computed") {
  for (const char* const name : {"convolutions", "words", "table", "scan"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    fit_golden(folder, name);
    const Outcome exported = run_program(folder, "export run -q");
    REQUIRE_MESSAGE(exported.exit_code == 0, exported.err);
    CHECK(exported.out == fmt::format("run/{}.onnx\n", name));
    const onnx::ModelProto model = model_in(folder / fmt::format("run/{}.onnx", name));
    CHECK(graph_text(model.graph()) == read_text_file(repository_file(fmt::format("tests/golden/onnx/{}.txt", name))));
  }
}

TEST_CASE("the same run gives the same bytes, wherever it lies, with its weights by their names") {
  const TemporaryFolder folder;
  fit_golden(folder, "table");
  REQUIRE(run_program(folder, "export run -q -o one.onnx").exit_code == 0);
  REQUIRE(run_script(folder,
                     "mkdir -p elsewhere && cp -r run elsewhere/other && "
                     "\"$MIRRORTRAIN\" export elsewhere/other -q -o - > two.onnx")
              .exit_code == 0);
  const std::string bytes = read_text_file(folder / "one.onnx");
  CHECK(bytes == read_text_file(folder / "two.onnx"));
  CHECK(bytes.find(folder.path().filename().string()) == std::string::npos);

  const onnx::ModelProto model = model_in(folder / "one.onnx");
  CHECK(model.producer_name() == "mirrortrain");
  const auto metadata = metadata_of(model);
  CHECK(metadata.at("run") == "table");
  CHECK(metadata.at("step") == "1");
  CHECK(metadata.at("epoch") == "1");
  CHECK(metadata.at("weights_crc32").size() == 8);
  CHECK(metadata.at("classes") == R"({"bird":["blackbird","robin","sparrow"]})");
  const auto weights = read_safetensors(folder / "run/model.safetensors");
  std::size_t found = 0;
  for (const onnx::TensorProto& one : model.graph().initializer()) {
    const auto weight = weights.find(one.name());
    if (weight == weights.end()) continue;
    ++found;
    REQUIRE(one.raw_data().size() == weight->second.data.size());
    CHECK(std::memcmp(one.raw_data().data(), weight->second.data.data(), weight->second.data.size()) == 0);
  }
  CHECK(found == weights.size());
}

TEST_CASE("inputs and outputs have their names, and --raw leaves out the preprocessing") {
  const TemporaryFolder folder;
  fit_golden(folder, "table");
  REQUIRE(run_program(folder, "export run -q").exit_code == 0);
  REQUIRE(run_program(folder, "export run -q --raw -o raw.onnx").exit_code == 0);
  const onnx::ModelProto model = model_in(folder / "run/table.onnx"), raw = model_in(folder / "raw.onnx");
  CHECK(names_of(model.graph().input()) == std::vector<std::string>{"input", "color", "place"});
  CHECK(names_of(model.graph().output()) == std::vector<std::string>{"bird", "bird_probabilities", "song"});
  REQUIRE(raw.graph().input_size() == 1);
  CHECK(text_of(raw.graph().input(0)) == "input: float [batch, 7]");
  CHECK(raw.graph().node(0).input(0) == "input");
  CHECK(raw.opset_import_size() == 1);
}

TEST_CASE("the probabilities of several labels are an output beside their logits") {
  const TemporaryFolder folder;
  fit_golden(folder, "convolutions",
             "--set 'loss={type: binary_crossentropy, from_logits: true}' --set "
             "'data.train={format: synthetic, examples: 8, shape: [11, 12, 3], label_shape: [5], classes: 2}'");
  REQUIRE(run_program(folder, "export run -q -o labels.onnx").exit_code == 0);
  const onnx::GraphProto graph = model_in(folder / "labels.onnx").graph();
  CHECK(graph.output(1).name() == "probabilities");
  CHECK(graph.node(graph.node_size() - 1).op_type() == "Sigmoid");
  CHECK(graph.node(graph.node_size() - 1).output(0) == "probabilities");
}

TEST_CASE("a checkpoint's weights are those of its step") {
  const TemporaryFolder folder;
  fit_golden(folder, "scan", "--set training.steps=3 --set checkpoint.every_steps=1");
  REQUIRE(run_program(folder, "export run/step-000002 -q -o two.onnx").exit_code == 0);
  REQUIRE(run_program(folder, "export run -q -o three.onnx").exit_code == 0);
  CHECK(metadata_of(model_in(folder / "two.onnx")).at("step") == "2");
  CHECK(metadata_of(model_in(folder / "three.onnx")).at("step") == "3");
  CHECK(read_text_file(folder / "two.onnx") != read_text_file(folder / "three.onnx"));
}

TEST_CASE("initial_weights takes an exported file's weights by their names") {
  const TemporaryFolder folder;
  fit_golden(folder, "table");
  REQUIRE(run_program(folder, "export run -q -o weights.onnx").exit_code == 0);
  const std::string config = repository_file("tests/golden/onnx/table.yaml");
  const Outcome again = run_program(folder, fmt::format("fit '{}' --run-dir again -q --set optimizer.learning_rate=0 "
                                                        "--set model.initial_weights=\"$PWD/weights.onnx\"",
                                                        config));
  REQUIRE_MESSAGE(again.exit_code == 0, again.err);
  CHECK(read_text_file(folder / "run/model.safetensors") == read_text_file(folder / "again/model.safetensors"));
}

TEST_CASE("what ONNX cannot express is refused at once, by name, and leaves no file") {
  const TemporaryFolder folder;
  write_file(folder / "table.csv",
             "weight,color,place,text,kind\n1,red,a,xy,0\n2,blue,b,y,1\n3,red,b,x,0\n4,blue,a,xx,1\n");
  write_file(folder / "words.txt", "[PAD]\nx\ny\n");
  write_file(folder / "hashed.yaml", R"(
data:
  global_batch_size: 2
  train:
    format: csv
    file: table.csv
    labels: kind
    inputs:
      row: [weight, color, both]
      said: {column: text, as: text, vocabulary: words.txt, length: 3}
    encoding: {color: {hash: {bins: 3}}}
    crosses: {both: {columns: [color, place], num_bins: 4}}
model:
  inputs: {row: {shape: [3]}, said: {shape: [3]}}
  layers:
    - dense: {units: 2, inputs: [row], name: a}
    - dense: {units: 2, inputs: [said], name: b}
    - add: {inputs: [a, b]}
    - dense: {units: 1}
loss: {type: binary_crossentropy, from_logits: true}
optimizer: {type: sgd}
training: {steps: 1}
strategy: {devices: ["cpu:0"]}
)");
  const Outcome fitted = run_program(folder, "fit hashed.yaml --run-dir run -q");
  REQUIRE_MESSAGE(fitted.exit_code == 0, fitted.err);
  const Outcome refused = run_program(folder, "export run -q");
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
  CHECK(refused.err.find("run: ONNX cannot express 3 parts of it; --raw leaves out the preprocessing:\n") == 0);
  for (const char* const part : {"\n  column 1 ('color'): its words are encoded by hash",
                                 "\n  the crossing 'both': ", "\n  column 3 ('text'): it has texts"}) {
    CHECK_MESSAGE(refused.err.find(part) != std::string::npos, refused.err);
  }
  CHECK_FALSE(fs::exists(folder / "run/hashed.onnx"));
  CHECK(run_program(folder, "export run -q --raw").exit_code == 0);
  CHECK(names_of(model_in(folder / "run/hashed.onnx").graph().input()) == std::vector<std::string>{"row", "said"});
  const Outcome no_keras = run_program(folder, "export run -q -o hashed.keras");
  CHECK(no_keras.exit_code == 2);
  for (const char* const part : {"column 1 ('color'): hash is nothing that Keras computes",
                                 "column 3 ('text'): its texts become tokens before the layers"}) {
    CHECK_MESSAGE(no_keras.err.find(part) != std::string::npos, no_keras.err);
  }
  CHECK_FALSE(fs::exists(folder / "hashed.keras"));
  CHECK(run_program(folder, "export run -q --raw -o hashed.keras").exit_code == 0);
}

TEST_CASE("the format and the ending of the file go together") {
  const TemporaryFolder folder;
  fit_golden(folder, "scan");
  const auto refused = [&](const std::string& arguments, const std::string& text) {
    CAPTURE(arguments);
    const Outcome outcome = run_program(folder, "export " + arguments);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(outcome.err.find(text) != std::string::npos, outcome.err);
  };
  refused("run --format onnx -o a.keras", "--output a.keras: --format onnx writes a file that ends in .onnx");
  refused("run -o a.pb", "--output a.pb: expected a file that ends in .onnx or .keras");
  refused("run --format pb", "expected onnx or keras, found 'pb'");
  refused("none", "there is no run none");
  CHECK(run_program(folder, "export run --format onnx -q -o a.onnx").out == "a.onnx\n");
  fs::create_directory(folder / "run/scan.onnx");
  refused("run", "run/scan.onnx: expected a file, found a folder");
}

}  // namespace mirrortrain::testing
