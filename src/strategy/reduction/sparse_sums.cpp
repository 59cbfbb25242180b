#include "strategy/reduction/sparse_sums.h"

#include <algorithm>
#include <utility>

#include "base/round_up.h"

namespace mirrortrain {

SparseSums::Layout SparseSums::layout_of(const Table& table, std::int64_t most_rows) {
  const std::int64_t lookups = most_rows * table.gradient.per_example, values = kLine + round_up(lookups, kLine);
  return {kLine, values, values + round_up(lookups * table.weight.width, kLine)};
}

std::int64_t SparseSums::record_floats(const std::vector<Table>& tables, std::int64_t most_rows) {
  std::int64_t floats = 0;
  for (const Table& table : tables) floats += layout_of(table, most_rows).end;
  return floats;
}

SparseSums::SparseSums(Device& device, const StepKernels& kernels, std::vector<Table> tables, int largest_domain,
                       std::int64_t most_rows, Communicator* others)
    : kernels_(kernels),
      tables_(std::move(tables)),
      most_rows_(most_rows),
      exchanges_(others != nullptr),
      records_(device, others, largest_domain, DType::kFloat32, record_floats(tables_, most_rows),
               "rows of embeddings' gradients") {
  std::int64_t first = 0, most = 0, widest = 0;
  for (const Table& table : tables_) {
    const Layout layout = layout_of(table, most_rows);
    std::vector<SparseRows>& of_table = gradients_.emplace_back();
    for (std::int64_t r = 0; r < records_.rows(); ++r) {
      float* const head = records_.row<float>(r) + first;
      of_table.push_back({head, head + layout.numbers, head + layout.values});
    }
    first += layout.end;
    most = std::max(most, most_lookups(table));
    widest = std::max(widest, table.weight.width);
  }
  for (int r = 0; r < largest_domain; ++r) {
    Own& own = own_.emplace_back();
    own.lookups.resize(tables_.size());
    own.scratch = device.allocate(static_cast<std::size_t>(most) * sizeof(std::uint64_t));
    own.row = device.allocate(static_cast<std::size_t>(widest) * sizeof(float));
  }
}

void SparseSums::bind(std::size_t table, int replica, std::vector<Lookups> lookups) {
  own_[static_cast<std::size_t>(replica)].lookups[table] = std::move(lookups);
}

void SparseSums::sum(Stream& stream, std::size_t table, int replica, std::int64_t examples, float scale,
                     const Graph& graph) {
  const Table& of = tables_[table];
  Own& own = own_[static_cast<std::size_t>(replica)];
  std::vector<Lookups>& lookups = own.lookups[table];
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    lookups[i].count = examples * graph.spec(of.gradient.lookups[i].numbers).shape.elements();
  }
  const std::span scratch(own.scratch.as<std::uint64_t>(), own.scratch.bytes() / sizeof(std::uint64_t));
  const std::span row(own.row.as<float>(), own.row.bytes() / sizeof(float));
  const auto record = static_cast<std::size_t>(records_.own(replica));
  kernels_.sum_lookups(stream, lookups, of.weight, scale, scratch, row, gradients_[table][record]);
}

SparseRows SparseSums::merged(Stream& stream, std::size_t table) {
  const std::int64_t most = most_lookups(tables_[table]) * records_.rows();
  const std::int64_t floats = kLine + most * (1 + tables_[table].weight.width);
  merged_.resize(std::max(merged_.size(), static_cast<std::size_t>(floats)));
  const SparseRows sum{merged_.data(), merged_.data() + kLine, merged_.data() + kLine + most};
  kernels_.merge_sparse(stream, tables_[table].weight, gradients_[table], sum);
  return sum;
}

std::size_t SparseSums::bytes() const {
  std::size_t total = records_.bytes();
  for (const Own& own : own_) total += own.scratch.bytes() + own.row.bytes();
  return total;
}

}  // namespace mirrortrain
