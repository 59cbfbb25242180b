#include "serve/model/served_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <variant>

#include "data/loading/picture_form.h"
#include "data/pictures/picture_steps.h"

namespace mirrortrain {
namespace {

using data::AdaptedColumn;
using data::TableInput;

/// Whether an input of a table has a tensor of its own, by its name: of pictures, or of columns of numbers.
bool has_tensor(const data::AdaptedTable& table, const TableInput& input) {
  if (std::holds_alternative<TableInput::Pictures>(input.content)) return true;
  return std::ranges::any_of(table.columns_of(input),
                             [](const AdaptedColumn* column) { return !column->is_category(); });
}

/// The columns of a table that inputs have, as tensors: those of an input's numbers are one, of a word or text one
/// each.
class TableTensors {
 public:
  TableTensors(const data::AdaptedTable& table, std::set<std::string> taken, std::vector<ServedInput>& to)
      : table_(table), taken_(std::move(taken)), to_(to) {}

  void add(const std::string& input, const TableInput& content) {
    if (const auto* const texts = std::get_if<TableInput::Texts>(&content.content)) return add_cells(texts->column, {});
    ServedInput numbers{input, ServedInput::Kind::kNumbers, {}};
    for (const AdaptedColumn* const column : table_.columns_of(content)) {
      if (column->crossing) {
        for (const data::Crossing::Part& part : column->crossing->parts) add_cells(part.column, {});
      } else if (column->is_category()) {
        add_cells(column->column, column->words);
      } else {
        numbers.columns.push_back(name_of(column->column));
        numbers.column_numbers.push_back(column->column);
      }
    }
    if (numbers.columns.empty()) return;
    numbers.shape = {data::kAnyExtent, std::ssize(numbers.columns)};
    to_.push_back(std::move(numbers));
  }

 private:
  std::string name_of(std::int64_t column) const {
    const auto number = static_cast<std::size_t>(column);
    const bool has_name = number < table_.header.size() && !table_.header[number].empty();
    return has_name ? table_.header[number] : fmt::format("column_{}", number);
  }
  void add_cells(std::int64_t column, const std::vector<std::string>& words) {
    if (std::ranges::find(cells_, column) != cells_.end()) return;
    cells_.push_back(column);
    const std::string wanted = name_of(column);
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    ServedInput cells{name, ServedInput::Kind::kCells, {data::kAnyExtent, 1}, column};
    constexpr std::size_t kMostWords = 100;
    cells.words.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), kMostWords)));
    to_.push_back(std::move(cells));
  }

  const data::AdaptedTable& table_;
  std::set<std::string> taken_;
  std::vector<ServedInput>& to_;
  std::vector<std::int64_t> cells_;  ///< columns that are there
};

}  // namespace

std::vector<ServedInput> served_inputs(const CheckedConfiguration& checked, const data::Adapted* adapted,
                                       const std::vector<std::string>& outputs) {
  const data::AdaptedTable* const table = adapted != nullptr && adapted->table ? &*adapted->table : nullptr;
  const auto columns_of = [&](const data::InputSpec& input) {
    return table != nullptr ? table->find_input(input.name) : nullptr;
  };
  std::set<std::string> taken(outputs.begin(), outputs.end());
  for (const data::InputSpec& input : checked.examples.inputs) {
    const TableInput* const columns = columns_of(input);
    if (columns == nullptr || has_tensor(*table, *columns)) taken.insert(input.name);
  }
  std::vector<ServedInput> served;
  std::optional<TableTensors> tensors;
  if (table != nullptr) tensors.emplace(*table, taken, served);
  for (std::size_t i = 0; i < checked.examples.inputs.size(); ++i) {
    const data::InputSpec& input = checked.examples.inputs[i];
    const TableInput* const columns = columns_of(input);
    if (data::picture_form(checked.values().data.train.value, columns, input.name)) {
      served.push_back({input.name, ServedInput::Kind::kPictures, {data::kAnyExtent, 1}});
    } else if (columns != nullptr) {
      tensors->add(input.name, *columns);
    } else {
      std::vector<std::int64_t> shape = data::shape_before(checked.steps_of(i), input.shape);
      shape.insert(shape.begin(), data::kAnyExtent);
      served.push_back({input.name, ServedInput::Kind::kNumbers, std::move(shape)});
    }
  }
  return served;
}

}  // namespace mirrortrain
