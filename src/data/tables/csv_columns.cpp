#include "data/tables/csv_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"
#include "config/scalar.h"

namespace mirrortrain::data {
namespace {

std::optional<std::int64_t> find_name(const FirstLine& line, const std::string& name) {
  const auto found = std::find(line.header.begin(), line.header.end(), name);
  if (found == line.header.end()) return std::nullopt;
  if (std::find(found + 1, line.header.end(), name) != line.header.end()) {
    throw Error(
        fmt::format("{}: several columns are named '{}'; give its number, counted from 0", line.file, shortened(name)));
  }
  return found - line.header.begin();
}

/// Whether the names of the columns are numbers, and therefore probably not names.
bool has_numbers_alone(const FirstLine& line) {
  return std::ranges::all_of(line.header, [](const std::string& name) {
    double number = 0;
    const auto [after, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && after == name.data() + name.size();
  });
}

std::int64_t number_of(const FirstLine& line, const CsvColumn& column, std::string_view key) {
  if (const auto* number = std::get_if<std::int64_t>(&column)) {
    if (*number >= 0 && *number < line.columns) return *number;
    throw Error(fmt::format("{}: there is no column {} for '{}'; columns are 0 to {}", line.file, *number, key,
                            line.columns - 1));
  }
  const auto& name = std::get<std::string>(column);
  if (const auto found = find_name(line, name)) return *found;
  throw Error(fmt::format("{}: there is no column '{}' in the header for '{}'; the columns are {}{}", line.file,
                          shortened(name), key, shortened(fmt::format("{}", fmt::join(line.header, ", ")), 400),
                          has_numbers_alone(line)
                              ? fmt::format("; if the first line is an example, write header: false, and '{}' as the "
                                            "column's number, counted from 0",
                                            key)
                          : key == "weights" ? "; without 'weights' every example counts 1"
                                             : config::suggestion(name, line.header)));
}

std::vector<std::int64_t> numbers_of(const FirstLine& line, const CsvColumns& columns, std::string_view key) {
  std::vector<std::int64_t> numbers;
  for (const CsvColumn& column : listed(columns)) {
    const std::int64_t number = number_of(line, column, key);
    if (std::count(numbers.begin(), numbers.end(), number) > 0) {
      throw Error(fmt::format("{}: a column is listed twice in '{}'", line.file, key));
    }
    numbers.push_back(number);
  }
  return numbers;
}

/// A key of `encoding` is a name, or otherwise a number.
std::int64_t encoded_column(const FirstLine& line, const std::string& key) {
  if (const auto found = find_name(line, key)) return *found;
  std::int64_t number = 0;
  const auto [after, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error == std::errc() && after == key.data() + key.size()) return number_of(line, number, "encoding");
  return number_of(line, key, "encoding");
}

void add_encodings(const Csv& options, const FirstLine& line, AdaptedTable& table) {
  for (const auto& [key, encoding] : options.encoding.entries) {
    const std::int64_t number = encoded_column(line, key);
    const auto found = std::find_if(table.features.begin(), table.features.end(),
                                    [&](const AdaptedColumn& column) { return column.column == number; });
    if (found == table.features.end()) {
      throw Error(
          fmt::format("{}: 'encoding' is for features, and {} is none; take it out", line.file, table.text_of(number)));
    }
    found->encoding = encoding;
  }
}

/// Warns of features with equal names, which cannot be distinguished in new data, where columns are matched by name.
void warn_of_equal_names(const AdaptedTable& table, const FirstLine& line, std::vector<std::string>& remarks) {
  if (line.header.empty()) return;
  std::set<std::string> names;
  for (const AdaptedColumn& feature : table.features) {
    const std::string& name = line.header[static_cast<std::size_t>(feature.column)];
    if (std::ranges::count(line.header, name) < 2 || !names.insert(name).second) continue;
    remarks.push_back(
        fmt::format("{}: several columns are named '{}', so that new data must have the same columns in "
                    "the same order; give each its own name",
                    line.file, shortened(name)));
  }
}

bool refuses_missing(const Csv& options) {
  return !options.missing || std::holds_alternative<RefuseMissing>(*options.missing);
}

/// The feature columns of a file, matched by the names of the training data.
std::vector<std::int64_t> columns_by_name(const FirstLine& line, const AdaptedTable& table) {
  std::vector<std::int64_t> numbers;
  for (const AdaptedColumn& feature : table.features) {
    const std::string& name = table.header[static_cast<std::size_t>(feature.column)];
    const auto found = find_name(line, name);
    if (!found) {
      throw Error(
          fmt::format("{}: there is no column '{}' in the header, which the training data has; the columns are {}, "
                      "matched by name, in any order{}",
                      line.file, shortened(name), shortened(fmt::format("{}", fmt::join(line.header, ", ")), 400),
                      config::suggestion(name, line.header)));
    }
    numbers.push_back(*found);
  }
  return numbers;
}

/// The names of the features, in the order of the training file.
std::vector<std::string> names_of_features(const AdaptedTable& table) {
  std::vector<std::int64_t> numbers;
  for (const AdaptedColumn& feature : table.features) numbers.push_back(feature.column);
  std::ranges::sort(numbers);
  std::vector<std::string> names;
  for (const std::int64_t number : numbers) names.push_back(table.header[static_cast<std::size_t>(number)]);
  return names;
}

/// Matches columns by position, if a file or the training data has no header, or all names are in the expected
/// positions.
std::vector<std::int64_t> columns_by_number(const FirstLine& line, const AdaptedTable& table, const Csv& options,
                                            bool wants_labels) {
  std::vector<std::int64_t> numbers;
  for (const AdaptedColumn& feature : table.features) numbers.push_back(feature.column);
  if (line.columns == table.columns) return numbers;
  if (wants_labels && table.weights && !options.weights && line.columns == table.columns - 1) {
    for (std::int64_t& number : numbers) number -= number > *table.weights ? 1 : 0;  // without the weights
    return numbers;
  }
  if (!wants_labels && line.columns == static_cast<std::int64_t>(numbers.size())) {  // only the features, in order
    std::vector<std::int64_t> sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    for (std::int64_t& number : numbers)
      number = std::lower_bound(sorted.begin(), sorted.end(), number) - sorted.begin();
    return numbers;
  }
  throw Error(
      fmt::format("{}: expected {} columns as in the training data, found {}", line.file, table.columns, line.columns));
}

class Roles {
 public:
  explicit Roles(const FirstLine& line) : line_(line), roles_(static_cast<std::size_t>(line.columns)) {}

  void set(std::int64_t column, ColumnRole role) {
    ColumnRole& own = roles_[static_cast<std::size_t>(column)];
    if (own.kind != ColumnRole::Kind::kPassedOver) {
      const std::string name =
          line_.header.empty() ? "" : fmt::format(" ('{}')", shortened(line_.header[static_cast<std::size_t>(column)]));
      throw Error(fmt::format(
          "{}: column {}{} is taken twice, among labels, weights and features{}", line_.file, column, name,
          line_.header.empty() ? "; without a header, features are the columns that they are in the training data"
                               : ""));
    }
    own = role;
  }
  std::vector<ColumnRole> take() { return std::move(roles_); }
  const std::vector<ColumnRole>& all() const { return roles_; }

 private:
  const FirstLine& line_;
  std::vector<ColumnRole> roles_;
};

/// Rejects a column that is neither a feature nor, by its name, a label or the weights. New data may have additional
/// columns.
void refuse_other_names(const FirstLine& line, const AdaptedTable& table, const std::vector<ColumnRole>& roles,
                        bool is_new, std::vector<std::string>& remarks) {
  if (table.lists_features || table.header.empty()) return;
  const auto is_known = [&](const std::string& name) {
    return std::count(table.header.begin(), table.header.end(), name) > 0;
  };
  for (std::size_t column = 0; column < line.header.size(); ++column) {
    if (roles[column].kind != ColumnRole::Kind::kPassedOver || is_known(line.header[column])) continue;
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

}  // namespace

AdaptedTable table_of_options(const Csv& options, const FirstLine& line, std::vector<std::string>& remarks) {
  AdaptedTable table;
  table.header = line.header;
  table.columns = line.columns;
  table.labels = numbers_of(line, options.labels, "labels");
  if (options.weights) table.weights = number_of(line, *options.weights, "weights");
  table.lists_features = options.features.has_value();
  std::vector<std::int64_t> features;
  if (options.features) {
    features = numbers_of(line, *options.features, "features");
  } else {
    for (std::int64_t column = 0; column < line.columns; ++column) {
      if (std::count(table.labels.begin(), table.labels.end(), column) == 0 && column != table.weights)
        features.push_back(column);
    }
  }
  if (features.empty()) {
    throw Error(
        fmt::format("{}: no column is left for features: the first line has {} cell{}, and 'labels'{} takes "
                    "all of them; if other characters separate the cells, name one in 'delimiter'",
                    line.file, line.columns, line.columns == 1 ? "" : "s", options.weights ? " with 'weights'" : ""));
  }
  for (const std::int64_t column : features) table.features.push_back({column, {}, {}, {}});
  warn_of_equal_names(table, line, remarks);
  add_encodings(options, line, table);
  table.missing_values = options.missing_values.value_or(std::vector<std::string>());
  if (!refuses_missing(options)) {
    const auto* constant = std::get_if<MissingIsConstant>(&*options.missing);
    for (AdaptedColumn& column : table.features)
      column.missing = constant != nullptr && !column.encoding ? constant->value : 0;
  }
  return table;
}

std::vector<ColumnRole> roles_of(const FirstLine& line, const AdaptedTable& table, const Csv& options,
                                 bool wants_labels, std::vector<std::string>& remarks) {
  Roles roles(line);
  const bool by_name = !line.header.empty() && !table.header.empty() && line.header != table.header &&
                       (wants_labels || line.header != names_of_features(table));
  const std::vector<std::int64_t> features =
      by_name ? columns_by_name(line, table) : columns_by_number(line, table, options, wants_labels);
  for (std::size_t i = 0; i < features.size(); ++i) {
    const bool is_word = table.features[i].encoding.has_value();
    roles.set(features[i],
              {is_word ? ColumnRole::Kind::kWord : ColumnRole::Kind::kNumber, static_cast<std::int64_t>(i)});
  }
  if (wants_labels) {
    // Names refer to the training data's header; numbers refer to this file's columns.
    const bool by_place = line.header.empty() && !table.header.empty() && line.columns == table.columns;
    const auto is_name = [](const CsvColumn& column) { return std::holds_alternative<std::string>(column); };
    const std::vector<std::int64_t> labels = by_place && std::ranges::any_of(listed(options.labels), is_name)
                                                 ? table.labels
                                                 : numbers_of(line, options.labels, "labels");
    for (std::size_t i = 0; i < labels.size(); ++i)
      roles.set(labels[i], {ColumnRole::Kind::kLabel, static_cast<std::int64_t>(i)});
    std::optional<std::int64_t> weights;
    if (options.weights) {
      weights = by_place && is_name(*options.weights) ? table.weights : number_of(line, *options.weights, "weights");
    }
    if (weights) roles.set(*weights, {ColumnRole::Kind::kWeight, 0});
  }
  if (by_name) refuse_other_names(line, table, roles.all(), !wants_labels, remarks);
  return roles.take();
}

}  // namespace mirrortrain::data
