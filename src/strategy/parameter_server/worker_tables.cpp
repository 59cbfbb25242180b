#include "strategy/parameter_server/worker_tables.h"

#include <algorithm>

#include "kernels/scalar/embedding.h"

namespace mirrortrain {
namespace {

/// That one message asks a server for; where they are more, the whole tables are pulled.
constexpr std::size_t kMostRowsPulled = 1'000'000;

}  // namespace

WorkerTables::WorkerTables(const Model& model, std::vector<SparseGradient> tables, const Placement& placement)
    : model_(model), servers_(static_cast<std::size_t>(placement.servers())) {
  for (SparseGradient& gradient : tables) {
    const Shape& shape = model.variables[gradient.variable].spec.shape;
    Table table{std::move(gradient), shape[1], {}};
    for (std::size_t server = 0; server < servers_; ++server) {
      const std::vector<VariablePart>& parts = placement.parts(static_cast<int>(server));
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].variable != table.gradient.variable || !parts[i].is_sparse) continue;
        table.parts.push_back({server, i, parts[i].first / table.width, parts[i].rows()});
      }
    }
    if (!table.parts.empty()) tables_.push_back(std::move(table));
  }
}

const WorkerTables::Table* WorkerTables::find(std::size_t variable) const {
  const auto found = std::ranges::find(tables_, variable, [](const Table& table) { return table.gradient.variable; });
  return found == tables_.end() ? nullptr : &*found;
}

/// Adds rows of a table, in ascending order, with or without values.
void WorkerTables::add(const Table& table, std::span<const float> numbers, const float* values, Rows& to) {
  for (const Part& part : table.parts) {
    PartRows rows{part.number, {}, {}};
    const auto begin = std::ranges::lower_bound(numbers, static_cast<float>(part.first));
    const auto end = std::ranges::lower_bound(numbers, static_cast<float>(part.first + part.rows));
    for (auto number = begin; number < end; ++number) rows.numbers.push_back(*number - static_cast<float>(part.first));
    rows.values.resize(rows.numbers.size() * static_cast<std::size_t>(table.width));
    if (values != nullptr) {
      std::copy_n(values + (begin - numbers.begin()) * table.width, rows.values.size(), rows.values.begin());
    }
    if (!rows.numbers.empty()) to[part.server].push_back(std::move(rows));
  }
}

/// Ascending, each once.
std::optional<std::vector<float>> WorkerTables::numbers_of(const Table& table, const data::Feeder& examples,
                                                           std::span<const std::int64_t> rows) const {
  const ModelGraph& graph = model_.training;
  const std::int64_t all = model_.variables[table.gradient.variable].spec.shape[0];
  std::vector<float> numbers;
  for (const auto& [looked_up, dy] : table.gradient.lookups) {
    const auto input = std::ranges::find(graph.inputs, looked_up, &ModelInput::value);
    if (input == graph.inputs.end()) return std::nullopt;
    const auto which = static_cast<std::size_t>(input - graph.inputs.begin());
    if (!examples.can_fill(which)) return std::nullopt;
    const Shape shape = graph.graph.spec(looked_up).shape_at(std::ssize(rows));
    std::vector<float> own(static_cast<std::size_t>(shape.elements()));
    examples.fill_input(which, rows, {DType::kFloat32, shape, reinterpret_cast<std::byte*>(own.data())});
    for (const float number : own) {
      if (const std::int64_t row = scalar::table_row(number, all); row >= 0) {
        numbers.push_back(static_cast<float>(row));
      }
    }
  }
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return numbers;
}

std::optional<WorkerTables::Rows> WorkerTables::looked_up(const data::Feeder& examples,
                                                          std::span<const std::int64_t> rows) const {
  if (!any()) return std::nullopt;
  Rows wanted(servers_);
  for (const Table& table : tables_) {
    const auto numbers = numbers_of(table, examples, rows);
    if (!numbers) return std::nullopt;
    add(table, *numbers, nullptr, wanted);
  }
  for (const std::vector<PartRows>& of_server : wanted) {
    std::size_t asked = 0;
    for (const PartRows& of : of_server) asked += of.numbers.size();
    if (asked > kMostRowsPulled) return std::nullopt;
  }
  return wanted;
}

void WorkerTables::read(const Rows& pulled, const LastingVariable& to) const {
  const Table* const table = find(to.index);
  if (table == nullptr) return;
  auto* const elements = to.value.copy(0).as<float>();
  for (const Part& part : table->parts) {
    for (const PartRows& of : pulled[part.server]) {
      if (of.part != part.number) continue;
      const float* value = of.values.data();
      for (const float number : of.numbers) {
        const std::int64_t row = part.first + static_cast<std::int64_t>(number);
        std::copy_n(value, table->width, elements + row * table->width);
        value += table->width;
      }
    }
  }
}

void WorkerTables::push(const LastingVariable& table, Strategy& strategy, Rows& to) const {
  const Table& of = *find(table.index);
  if (const std::optional<SparseRows> rows = strategy.sparse_gradient(table.index)) {
    return add(of, {rows->numbers, static_cast<std::size_t>(rows->count())}, rows->values, to);
  }
  // On a GPU it is dense: the rows that are not 0.
  const auto* const gradient = table.accumulated->copy(0).as<float>();
  std::vector<float> numbers, values;
  for (std::int64_t row = 0; row < table.value.shape()[0]; ++row) {
    const std::span own(gradient + row * of.width, static_cast<std::size_t>(of.width));
    if (std::ranges::all_of(own, [](float element) { return element == 0; })) continue;
    numbers.push_back(static_cast<float>(row));
    values.insert(values.end(), own.begin(), own.end());
  }
  add(of, numbers, values.data(), to);
}

double WorkerTables::squares(const Rows& pushed) {
  double total = 0;
  for (const std::vector<PartRows>& of_server : pushed) {
    for (const PartRows& rows : of_server) {
      for (const float value : rows.values) total += static_cast<double>(value) * value;
    }
  }
  return total;
}

}  // namespace mirrortrain
