#include "report/tensorboard_graph.h"

#include "report/tensorboard_record.h"

namespace mirrortrain::report {
namespace {

/// The numbers of the fields in TensorFlow's graph.proto, node_def.proto and attr_value.proto.
namespace graph_field {
namespace graph {
constexpr int kNode = 1;
}
namespace node {
constexpr int kName = 1, kOp = 2, kInput = 3, kAttribute = 5;
}
namespace entry {
constexpr int kKey = 1, kValue = 2;
}
namespace attribute {
constexpr int kList = 1, kInteger = 3;
}
namespace list {
constexpr int kShape = 7;
}
}  // namespace graph_field

void put_attribute(ProtoMessage& node, std::string_view key, const ProtoMessage& value) {
  ProtoMessage entry;
  entry.put_bytes(graph_field::entry::kKey, key);
  entry.put_bytes(graph_field::entry::kValue, value.bytes());
  node.put_bytes(graph_field::node::kAttribute, entry.bytes());
}

}  // namespace

std::string tensorboard_graph(std::span<const ModelNode> nodes) {
  constexpr std::int64_t kAnyBatch = -1;
  ProtoMessage graph;
  for (const ModelNode& one : nodes) {
    ProtoMessage node;
    node.put_bytes(graph_field::node::kName, one.name);
    node.put_bytes(graph_field::node::kOp, one.type);
    for (const std::string& input : one.inputs) node.put_bytes(graph_field::node::kInput, input);
    ProtoMessage shapes, shape;
    shapes.put_bytes(graph_field::list::kShape, tensor_shape(one.output_shape.with_rows(kAnyBatch).dims()).bytes());
    shape.put_bytes(graph_field::attribute::kList, shapes.bytes());
    put_attribute(node, "_output_shapes", shape);
    if (one.parameters > 0) {
      ProtoMessage parameters;
      parameters.put_varint(graph_field::attribute::kInteger, static_cast<std::uint64_t>(one.parameters));
      put_attribute(node, "parameters", parameters);
    }
    graph.put_bytes(graph_field::graph::kNode, node.bytes());
  }
  return graph.bytes();
}

}  // namespace mirrortrain::report
