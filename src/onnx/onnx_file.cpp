#include "onnx/onnx_file.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.h"
#include "onnx/third_party/onnx.pb.h"

namespace mirrortrain::onnx {
namespace {

constexpr std::int64_t kIrVersion = 8;  // the one of opset 17

void write(Tensor tensor, ::onnx::TensorProto& to) {
  to.set_data_type(static_cast<std::int32_t>(tensor.type));
  for (const std::int64_t dim : tensor.dims) to.add_dims(dim);
  to.set_raw_data(std::move(tensor.bytes));
}

void write(Graph graph, ::onnx::GraphProto& to);

struct WriteAttribute {
  ::onnx::AttributeProto& to;

  void operator()(std::int64_t value) const {
    to.set_type(::onnx::AttributeProto::INT);
    to.set_i(value);
  }
  void operator()(float value) const {
    to.set_type(::onnx::AttributeProto::FLOAT);
    to.set_f(value);
  }
  void operator()(const std::string& value) const {
    to.set_type(::onnx::AttributeProto::STRING);
    to.set_s(value);
  }
  void operator()(const Ints& values) const {
    to.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) to.add_ints(value);
  }
  void operator()(const std::vector<float>& values) const {
    to.set_type(::onnx::AttributeProto::FLOATS);
    for (const float value : values) to.add_floats(value);
  }
  void operator()(const std::vector<std::string>& values) const {
    to.set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) to.add_strings(value);
  }
  void operator()(const Tensor& value) const {
    to.set_type(::onnx::AttributeProto::TENSOR);
    write(value, *to.mutable_t());
  }
  void operator()(const std::shared_ptr<const Graph>& value) const {
    to.set_type(::onnx::AttributeProto::GRAPH);
    write(*value, *to.mutable_g());
  }
};

void write(const ValueInfo& value, ::onnx::ValueInfoProto& to) {
  to.set_name(value.name);
  ::onnx::TypeProto_Tensor& type = *to.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<std::int32_t>(value.type));
  ::onnx::TensorShapeProto& shape = *type.mutable_shape();
  for (const auto& dim : value.dims) {
    ::onnx::TensorShapeProto_Dimension& one = *shape.add_dim();
    if (const auto* const name = std::get_if<std::string>(&dim)) {
      one.set_dim_param(*name);
    } else {
      one.set_dim_value(std::get<std::int64_t>(dim));
    }
  }
}

void write(const Node& node, ::onnx::NodeProto& to) {
  to.set_name(node.name);
  to.set_op_type(node.op_type);
  if (!node.domain.empty()) to.set_domain(node.domain);
  for (const std::string& input : node.inputs) to.add_input(input);
  for (const std::string& output : node.outputs) to.add_output(output);
  for (const auto& [name, value] : node.attributes) {
    ::onnx::AttributeProto& attribute = *to.add_attribute();
    attribute.set_name(name);
    std::visit(WriteAttribute{attribute}, value);
  }
}

void write(Graph graph, ::onnx::GraphProto& to) {
  to.set_name(graph.name);
  for (const Node& node : graph.nodes) write(node, *to.add_node());
  for (auto& [name, tensor] : graph.initializers) {
    ::onnx::TensorProto& initializer = *to.add_initializer();
    initializer.set_name(name);
    write(std::move(tensor), initializer);
  }
  for (const ValueInfo& input : graph.inputs) write(input, *to.add_input());
  for (const ValueInfo& output : graph.outputs) write(output, *to.add_output());
}

/// Checked before anything is copied: protobuf's own check ends the program.
void require_possible(const Graph& graph) {
  std::uint64_t bytes = 0;
  for (const auto& [name, tensor] : graph.initializers) bytes += tensor.bytes.size() + name.size() + 64;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max() - (std::uint64_t{64} << 20);
  if (bytes <= kMost) return;
  throw Error(fmt::format("the weights have {} MiB, and an ONNX file holds at most {}; keep model.safetensors for it",
                          bytes >> 20, kMost >> 20));
}

}  // namespace

std::string why_absent() { return ""; }

std::string file_bytes(Model&& model) {
  require_possible(model.graph);
  ::onnx::ModelProto file;
  file.set_ir_version(kIrVersion);
  file.set_producer_name("mirrortrain");
  file.set_producer_version(model.producer_version);
  ::onnx::OperatorSetIdProto& opset = *file.add_opset_import();
  opset.set_domain("");
  opset.set_version(kOpset);
  if (uses_ml(model.graph)) {
    ::onnx::OperatorSetIdProto& ml = *file.add_opset_import();
    ml.set_domain(kMlDomain);
    ml.set_version(kMlOpset);
  }
  write(std::move(model.graph), *file.mutable_graph());
  for (const auto& [key, value] : model.metadata) {
    ::onnx::StringStringEntryProto& entry = *file.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  if (!file.SerializeToCodedStream(&coded)) throw Error("the ONNX file cannot be made; the model is too large for it");
  coded.Trim();
  return bytes;
}

}  // namespace mirrortrain::onnx
