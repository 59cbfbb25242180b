#include "graph/ops/embedding.h"

#include "graph/ops/checks.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::ops {
namespace {

void expect_numbers(std::string_view op, const ValueSpec& spec) {
  expect(spec.batched && spec.dtype == DType::kFloat32, op, "numbers as batched float32", spec);
}

}  // namespace

std::vector<ValueSpec> Embedding::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &numbers = inputs[0], &table = inputs[1];
  expect_numbers(name(), numbers);
  expect(!table.batched && table.dtype == DType::kFloat32 && table.shape.rank() == 2, name(),
         "a float32 table [input_dim, output_dim]", table);
  std::vector<std::int64_t> dims = numbers.shape.dims();
  dims.push_back(table.shape.back());
  return {{dtype, Shape(dims), true}};
}

std::vector<ValueId> Embedding::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  if (wanted[0]) throw Error("embedding: numbers have no gradient; they cannot depend on trained variables");
  if (!wanted[1] || output_gradients[0] == kNoValue) return {kNoValue, kNoValue};
  const EmbeddingGradient gradient(graph.spec(node.inputs[1]).shape[0], first_row);
  return {kNoValue, graph.apply_one(gradient, {node.inputs[0], output_gradients[0]})};
}

std::vector<ValueSpec> EmbeddingGradient::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &numbers = inputs[0], &dy = inputs[1];
  expect_numbers(name(), numbers);
  expect(dy.batched && is_float(dy.dtype) && dy.shape.rank() == numbers.shape.rank() + 1, name(),
         fmt::format("the output's gradient for numbers of shape {}", numbers.shape.text()), dy);
  return {{DType::kFloat32, {input_dim, dy.shape.back()}, false}};
}

std::vector<LookupTerm> lookup_terms(const Graph& graph, ValueId gradient) {
  const Graph::Value& value = graph.value(gradient);
  if (value.source != Graph::Source::kNode) return {};
  const Node& node = graph.node(value.producer);
  if (const auto* of_lookup = dynamic_cast<const EmbeddingGradient*>(node.op.get())) {
    if (of_lookup->first_row != 0) return {};
    return {{node.inputs[0], node.inputs[1]}};
  }
  if (dynamic_cast<const AddN*>(node.op.get()) == nullptr) return {};
  std::vector<LookupTerm> terms;
  for (const ValueId input : node.inputs) {
    const std::vector<LookupTerm> own = lookup_terms(graph, input);
    // A sum of sums is added one after the other only where it comes first.
    if (own.empty() || (own.size() > 1 && input != node.inputs.front())) return {};
    terms.insert(terms.end(), own.begin(), own.end());
  }
  return terms;
}

}  // namespace mirrortrain::ops
