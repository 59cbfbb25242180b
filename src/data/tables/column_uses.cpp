#include "data/tables/column_uses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/utf8.h"
#include "config/scalar.h"

namespace mirrortrain::data {
namespace {

/// A file's columns for the inputs, in the order of input_columns(), matched by the names of the training data.
std::vector<std::int64_t> columns_by_name(const FirstLine& line, const AdaptedTable& table) {
  std::vector<std::int64_t> numbers;
  for (const std::int64_t column : table.input_columns()) {
    const std::string& name = table.header[static_cast<std::size_t>(column)];
    const auto found = find_name(line, name);
    if (!found) {
      throw Error(
          fmt::format("{}: there is no column '{}' in the header, which the training data has; the columns are {}, "
                      "matched by name, in any order{}",
                      line.file, shortened(name), shortened(fmt::format("{}", fmt::join(line.header, ", ")), 400),
                      config::suggestion(name, config::with_aliases(line.header, config::names_of_keys<Csv>()))));
    }
    numbers.push_back(*found);
  }
  return numbers;
}

/// The names of the inputs' columns, in the order of the training file.
std::vector<std::string> names_of_inputs(const AdaptedTable& table) {
  std::vector<std::int64_t> numbers = table.input_columns();
  std::ranges::sort(numbers);
  std::vector<std::string> names;
  for (const std::int64_t number : numbers) names.push_back(table.header[static_cast<std::size_t>(number)]);
  return names;
}

/// The columns of the training file that have weights alone.
std::set<std::int64_t> columns_of_weights(const AdaptedTable& table) {
  std::set<std::int64_t> weights;
  for (const TableOutput& output : table.outputs) {
    if (output.weights) weights.insert(*output.weights);
  }
  for (const std::int64_t column : table.input_columns()) weights.erase(column);
  for (const TableOutput& output : table.outputs) {
    for (const std::int64_t column : output.labels) weights.erase(column);
  }
  return weights;
}

/// Matches columns by position, if a file or the training data has no header, or all names are in the expected
/// positions.
std::vector<std::int64_t> columns_by_number(const FirstLine& line, const AdaptedTable& table, const Csv& options,
                                            bool wants_labels) {
  std::vector<std::int64_t> numbers = table.input_columns();
  if (line.columns == table.columns) return numbers;
  const std::set<std::int64_t> weights = columns_of_weights(table);
  const bool lacks_weights =
      !weights.empty() && !options.weights && line.columns == table.columns - std::ssize(weights);
  if (wants_labels && lacks_weights) {
    for (std::int64_t& number : numbers) number -= std::distance(weights.begin(), weights.lower_bound(number));
    return numbers;
  }
  if (!wants_labels && line.columns == std::ssize(numbers)) {  // only the inputs', in order
    std::vector<std::int64_t> sorted = numbers;
    std::ranges::sort(sorted);
    for (std::int64_t& number : numbers) number = std::ranges::lower_bound(sorted, number) - sorted.begin();
    return numbers;
  }
  throw Error(
      fmt::format("{}: expected {} columns as in the training data, found {}", line.file, table.columns, line.columns));
}

/// Collects the uses of a file's columns.
class Uses {
 public:
  /// `shares`: whether a column may be of inputs and of outputs.
  Uses(const FirstLine& line, bool shares)
      : line_(line), shares_(shares), uses_(static_cast<std::size_t>(line.columns)) {}

  void add(std::int64_t column, ColumnUse use) {
    std::vector<ColumnUse>& own = uses_[static_cast<std::size_t>(column)];
    const bool are_of_inputs = use.is_of_input() && std::ranges::all_of(own, &ColumnUse::is_of_input);
    if (!own.empty() && !shares_ && !are_of_inputs) {
      const std::string name =
          line_.header.empty() ? "" : fmt::format(" ('{}')", shortened(line_.header[static_cast<std::size_t>(column)]));
      throw Error(fmt::format(
          "{}: column {}{} is taken twice, among labels, weights and features{}", line_.file, column, name,
          line_.header.empty() ? "; without a header, features are the columns that they are in the training data"
                               : ""));
    }
    own.push_back(use);
  }
  ColumnUses take() { return std::move(uses_); }
  const ColumnUses& all() const { return uses_; }

 private:
  const FirstLine& line_;
  bool shares_;
  ColumnUses uses_;
};

/// Rejects a column that is neither a feature nor, by its name, a label or the weights. New data may have additional
/// columns.
void refuse_other_names(const FirstLine& line, const AdaptedTable& table, const ColumnUses& uses, bool is_new,
                        std::vector<std::string>& remarks) {
  if (table.lists_features || table.header.empty()) return;
  const auto is_known = [&](const std::string& name) {
    return std::count(table.header.begin(), table.header.end(), name) > 0;
  };
  for (std::size_t column = 0; column < line.header.size(); ++column) {
    if (!uses[column].empty() || is_known(line.header[column])) continue;
    if (is_new) {
      remarks.push_back(fmt::format("{}: the training data has no column '{}', which is passed over", line.file,
                                    shortened(line.header[column])));
      continue;
    }
    throw Error(
        fmt::format("{}: the training data has no column '{}'; remove it, or list the columns to take in "
                    "data.train.features",
                    line.file, shortened(line.header[column])));
  }
}

/// Adds the uses for the inputs. `columns`: of the file, in the order of input_columns().
void add_inputs(const AdaptedTable& table, const std::vector<std::int64_t>& columns, Uses& uses) {
  std::unordered_map<std::int64_t, std::int64_t> places;  // of the table's columns in the file
  const std::vector<std::int64_t> known = table.input_columns();
  for (std::size_t i = 0; i < known.size(); ++i) places.emplace(known[i], columns[i]);
  const auto in_file = [&](std::int64_t column) { return places.at(column); };
  for (std::size_t i = 0; i < table.features.size(); ++i) {
    if (const auto& crossing = table.features[i].crossing) {
      for (std::size_t k = 0; k < crossing->parts.size(); ++k) {
        uses.add(in_file(crossing->parts[k].column), {ColumnUse::Kind::kCrossed, i, k});
      }
      continue;
    }
    const bool is_word = table.features[i].encoding.has_value();
    uses.add(in_file(table.features[i].column), {is_word ? ColumnUse::Kind::kWord : ColumnUse::Kind::kNumber, i});
  }
  for (std::size_t i = 0; i < table.inputs.size(); ++i) {
    const auto& content = table.inputs[i].content;
    if (const auto* pictures = std::get_if<TableInput::Pictures>(&content)) {
      uses.add(in_file(pictures->column), {ColumnUse::Kind::kPicture, i});
    } else if (const auto* texts = std::get_if<TableInput::Texts>(&content)) {
      uses.add(in_file(texts->column), {ColumnUse::Kind::kText, i});
    }
  }
}

/// Adds the uses for the outputs. Names refer to the training data's header; numbers refer to this file's columns.
void add_outputs(const FirstLine& line, const AdaptedTable& table, const Csv& options, Uses& uses) {
  const bool by_place = line.header.empty() && !table.header.empty() && line.columns == table.columns;
  const auto is_name = [](const CsvColumn& column) { return std::holds_alternative<std::string>(column); };
  const std::vector<CsvOutput> outputs = outputs_of(options);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const CsvOutput& output = outputs[i];
    const TableOutput* const known = by_place ? table.find_output(output.name) : nullptr;
    const bool knows_labels = known != nullptr && std::ranges::any_of(listed(output.labels->value), is_name);
    const std::vector<std::int64_t> labels =
        knows_labels ? known->labels : numbers_of(line, *output.labels, output.name);
    for (std::size_t k = 0; k < labels.size(); ++k) uses.add(labels[k], {ColumnUse::Kind::kLabel, i, k});
    if (output.weights == nullptr) continue;
    const bool knows_weights = known != nullptr && known->weights && is_name(output.weights->value);
    uses.add(knows_weights ? *known->weights : number_of(line, *output.weights, output.name),
             {ColumnUse::Kind::kWeight, i});
  }
}

/// Refuses columns that are used, but have no cells.
void require_cells(const FirstLine& line, const ColumnUses& uses) {
  for (std::size_t column = 0; column < line.why_no_cells.size(); ++column) {
    if (uses[column].empty() || line.why_no_cells[column].empty()) continue;
    throw Error(
        fmt::format("{}: column {} ('{}') {}, which is neither a number nor a word; list the columns to take in "
                    "'features', or save it as columns of numbers",
                    line.file, column, shortened(line.header[column]), line.why_no_cells[column]));
  }
}

}  // namespace

std::optional<std::set<std::string>> wanted_names(const Csv& options, const AdaptedTable* known, bool wants_labels) {
  std::vector<CsvColumn> columns;
  const auto add = [&](const std::vector<CsvColumn>& more) { columns.insert(columns.end(), more.begin(), more.end()); };
  if (known != nullptr && !known->header.empty()) {
    for (const std::int64_t column : known->input_columns()) {
      columns.emplace_back(known->header[static_cast<std::size_t>(column)]);
    }
  } else if (options.features || !options.inputs.empty()) {
    if (options.features) add(listed(*options.features));
    for (const auto& [name, input] : options.inputs.entries) add(listed(input.value));
    for (const auto& [name, crossing] : options.crosses.entries) add(crossing.value.columns);
  } else {
    return std::nullopt;
  }
  for (const CsvOutput& output : wants_labels ? outputs_of(options) : std::vector<CsvOutput>()) {
    add(listed(output.labels->value));
    if (output.weights != nullptr) columns.push_back(output.weights->value);
  }
  std::set<std::string> names;
  for (const CsvColumn& column : columns) {
    if (!std::holds_alternative<std::string>(column)) return std::nullopt;
    names.insert(std::get<std::string>(column));
  }
  return names;
}

ColumnUses uses_of(const FirstLine& line, const AdaptedTable& table, const Csv& options, bool wants_labels,
                   std::vector<std::string>& remarks) {
  const bool has_names = !table.inputs.front().name.empty() || !options.labels.one;
  Uses uses(line, has_names);
  const bool by_name = !line.header.empty() && !table.header.empty() && line.header != table.header &&
                       (wants_labels || line.header != names_of_inputs(table));
  add_inputs(table, by_name ? columns_by_name(line, table) : columns_by_number(line, table, options, wants_labels),
             uses);
  if (wants_labels) add_outputs(line, table, options, uses);
  if (by_name) refuse_other_names(line, table, uses.all(), !wants_labels, remarks);
  require_cells(line, uses.all());
  return uses.take();
}

}  // namespace mirrortrain::data
