#include "onnx/onnx_file.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onnx/third_party/onnx.pb.h"

namespace mirrortrain::onnx {
namespace {

Model model() {
  Model made;
  made.producer_version = "1.2";
  made.metadata = {{"run", "a"}, {"classes", "[\"x\"]"}};
  Graph body;
  body.name = "step";
  body.outputs.push_back({"z", ElementType::kFloat, {"batch"}});
  made.graph.name = "network";
  made.graph.inputs.push_back({"words", ElementType::kString, {"batch", std::int64_t{1}}});
  made.graph.outputs.push_back({"y", ElementType::kFloat, {"batch", std::int64_t{3}}});
  made.graph.initializers.emplace_back("w", floats({1, 2}, std::vector<float>{0.5f, -2}));
  made.graph.initializers.emplace_back("b", booleans({2}, {true, false}));
  made.graph.nodes.push_back({"n",
                              "LabelEncoder",
                              kMlDomain,
                              {"words", "", "w"},
                              {"y", "z"},
                              {{"i", std::int64_t{3}},
                               {"f", 0.25f},
                               {"s", "same"},
                               {"ints", Ints{1, -1}},
                               {"floats", std::vector<float>{1, 2}},
                               {"strings", std::vector<std::string>{"a", ""}},
                               {"t", integers({1}, std::vector<std::int64_t>{7})},
                               {"g", std::make_shared<const Graph>(body)}}});
  return made;
}

}  // namespace

TEST_CASE("a file has what the model says, for protobuf") {
  ::onnx::ModelProto file;
  REQUIRE(file.ParseFromString(file_bytes(model())));
  CHECK(file.ir_version() == 8);
  CHECK(file.producer_name() == "mirrortrain");
  CHECK(file.producer_version() == "1.2");
  REQUIRE(file.opset_import_size() == 2);
  CHECK(file.opset_import(0).version() == 17);
  CHECK(file.opset_import(1).domain() == "ai.onnx.ml");
  REQUIRE(file.metadata_props_size() == 2);
  CHECK(file.metadata_props(0).key() == "classes");
  const ::onnx::GraphProto& graph = file.graph();
  CHECK(graph.name() == "network");
  CHECK(graph.input(0).type().tensor_type().elem_type() == ::onnx::TensorProto::STRING);
  CHECK(graph.input(0).type().tensor_type().shape().dim(0).dim_param() == "batch");
  CHECK(graph.output(0).type().tensor_type().shape().dim(1).dim_value() == 3);
  REQUIRE(graph.initializer_size() == 2);
  CHECK(graph.initializer(0).data_type() == ::onnx::TensorProto::FLOAT);
  CHECK(graph.initializer(0).raw_data().size() == 8);
  CHECK(graph.initializer(1).raw_data() == std::string("\1\0", 2));
  const ::onnx::NodeProto& node = graph.node(0);
  CHECK(node.domain() == "ai.onnx.ml");
  CHECK(node.input_size() == 3);
  CHECK(node.output(1) == "z");
  REQUIRE(node.attribute_size() == 8);
  CHECK(node.attribute(0).i() == 3);
  CHECK(node.attribute(1).f() == 0.25f);
  CHECK(node.attribute(2).s() == "same");
  CHECK(node.attribute(3).ints(1) == -1);
  CHECK(node.attribute(4).floats(1) == 2);
  CHECK(node.attribute(5).strings(0) == "a");
  CHECK(node.attribute(6).t().dims(0) == 1);
  CHECK(node.attribute(7).g().output(0).name() == "z");
  CHECK(node.attribute(7).type() == ::onnx::AttributeProto::GRAPH);
}

TEST_CASE("the same model gives the same bytes, and without words only one set of operators") {
  CHECK(file_bytes(model()) == file_bytes(model()));
  Model plain = model();
  plain.graph.nodes[0].domain = "";
  ::onnx::ModelProto file;
  REQUIRE(file.ParseFromString(file_bytes(std::move(plain))));
  CHECK(file.opset_import_size() == 1);
}

}  // namespace mirrortrain::onnx
