#include "data/tables/csv_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "config/scalar.h"
#include "data/key_error.h"
#include "data/text/vocabulary.h"

namespace mirrortrain::data {
namespace {

/// Whether the names of the columns are numbers, and therefore probably not names.
bool has_numbers_alone(const FirstLine& line) {
  return std::ranges::all_of(line.header, [](const std::string& name) {
    double number = 0;
    const auto [after, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && after == name.data() + name.size();
  });
}

/// "inputs.user", or "labels" where there is no name.
std::string key_of(std::string_view key, const std::string& name) {
  return name.empty() ? std::string(key) : fmt::format("{}.{}", key, name);
}

/// The result of `find`, whose errors are those of a key of the configuration.
template <class T, class Find>
auto at_key(const config::Located<T>& key, const Find& find) {
  try {
    return find();
  } catch (const Error& error) {
    if (!key.place.given()) throw;
    throw WrongKey(key.place, key.path, error.what());
  }
}

}  // namespace

std::optional<std::int64_t> find_name(const FirstLine& line, const std::string& name) {
  const auto found = std::find(line.header.begin(), line.header.end(), name);
  if (found == line.header.end()) return std::nullopt;
  if (std::find(found + 1, line.header.end(), name) != line.header.end()) {
    throw Error(
        fmt::format("{}: several columns are named '{}'; give its number, counted from 0", line.file, shortened(name)));
  }
  return found - line.header.begin();
}

std::int64_t number_of(const FirstLine& line, const CsvColumn& column, std::string_view key) {
  if (const auto* number = std::get_if<std::int64_t>(&column)) {
    if (*number >= 0 && *number < line.columns) return *number;
    throw Error(fmt::format("{}: there is no column {} for '{}'; columns are 0 to {}", line.file, *number, key,
                            line.columns - 1));
  }
  const auto& name = std::get<std::string>(column);
  if (const auto found = find_name(line, name)) return *found;
  if (const auto found = std::ranges::find(line.crossings, name); found != line.crossings.end()) {
    return line.columns + (found - line.crossings.begin());
  }
  throw Error(fmt::format(
      "{}: there is no column '{}' in the header for '{}'; the columns are {}{}", line.file, shortened(name), key,
      shortened(fmt::format("{}", fmt::join(line.header, ", ")), 400),
      has_numbers_alone(line) ? fmt::format("; if the first line is an example, put the columns' names in a line "
                                            "above it, or write header: false, and '{}' as the column's number, "
                                            "counted from 0",
                                            key)
      : key.starts_with("weights")
          ? "; without 'weights' every example counts 1"
          : config::suggestion(name, config::with_aliases(line.header, config::names_of_keys<Csv>()))));
}

std::vector<std::int64_t> numbers_of(const FirstLine& line, const std::vector<CsvColumn>& columns,
                                     std::string_view key) {
  std::vector<std::int64_t> numbers;
  for (const CsvColumn& column : columns) {
    const std::int64_t number = number_of(line, column, key);
    if (std::ranges::count(numbers, number) > 0) {
      throw Error(fmt::format("{}: a column is listed twice in '{}'", line.file, key));
    }
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<std::int64_t> numbers_of(const FirstLine& line, const config::Located<CsvInput>& input,
                                     const std::string& name) {
  return at_key(input, [&] { return numbers_of(line, listed(input.value), key_of("inputs", name)); });
}

std::vector<std::int64_t> numbers_of(const FirstLine& line, const config::Located<CsvLabels>& labels,
                                     const std::string& name) {
  return at_key(labels, [&] { return numbers_of(line, listed(labels.value), key_of("labels", name)); });
}

std::int64_t number_of(const FirstLine& line, const config::Located<CsvColumn>& weights, const std::string& name) {
  return at_key(weights, [&] { return number_of(line, weights.value, key_of("weights", name)); });
}

namespace {

std::optional<std::int64_t> number_in_text(const std::string& text) {
  std::int64_t number = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && after == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// A column in a mapping by columns is a name, or otherwise a number. `key`: the mapping's.
std::int64_t mapped_column(const FirstLine& line, const std::string& column, std::string_view key) {
  if (const auto found = find_name(line, column)) return *found;
  if (const auto number = number_in_text(column)) return number_of(line, *number, key);
  return number_of(line, column, key);
}

/// The feature of a column that is not a crossing.
std::vector<AdaptedColumn>::iterator find_feature(AdaptedTable& table, std::int64_t column) {
  return std::ranges::find_if(table.features,
                              [&](const AdaptedColumn& one) { return !one.crossing && one.column == column; });
}

void add_encodings(const Csv& options, const FirstLine& line, AdaptedTable& table) {
  for (const auto& [key, encoding] : options.encoding.entries) {
    const std::int64_t number = mapped_column(line, key, "encoding");
    const auto found = find_feature(table, number);
    if (found == table.features.end()) {
      throw Error(
          fmt::format("{}: 'encoding' is for features, and {} is none; take it out", line.file, table.text_of(number)));
    }
    found->encoding = encoding;
  }
}

/// Warns of columns with equal names, which cannot be distinguished in new data, where columns are matched by name.
void warn_of_equal_names(const AdaptedTable& table, const FirstLine& line, std::vector<std::string>& remarks) {
  if (line.header.empty()) return;
  std::map<std::string_view, int> columns_of;
  for (const std::string& name : line.header) ++columns_of[name];
  for (const std::int64_t column : table.input_columns()) {
    const std::string& name = line.header[static_cast<std::size_t>(column)];
    if (std::exchange(columns_of[name], 1) < 2) continue;
    remarks.push_back(
        fmt::format("{}: several columns are named '{}', so that new data must have the same columns in "
                    "the same order; give each its own name",
                    line.file, shortened(name)));
  }
}

/// Sets what stands for an empty cell of each column; of a mean, 0 for now.
void add_missing(const Csv& options, const FirstLine& line, AdaptedTable& table) {
  const auto named = options.missing ? options.missing->named : config::Map<Missing>();
  const std::vector<std::int64_t> columns = table.input_columns();
  for (const auto& [key, missing] : named.entries) {
    const std::int64_t number = mapped_column(line, key, "missing");
    if (std::ranges::count(columns, number) > 0) continue;
    throw Error(
        fmt::format("{}: 'missing' is for features, and {} is none; take it out", line.file, table.text_of(number)));
  }
  for (AdaptedColumn& column : table.features) {
    const Missing* const missing = missing_of(options, line.header, column.column);
    if (missing == nullptr || column.crossing) continue;
    const auto* const constant = std::get_if<MissingIsConstant>(missing);
    column.missing = constant != nullptr && !column.encoding ? constant->value : 0;
  }
}

/// The columns of `features`: all that are neither labels nor weights, and all crossings, where they are not listed.
std::vector<std::int64_t> feature_columns(const Csv& options, const FirstLine& line, const AdaptedTable& table) {
  if (options.features) return numbers_of(line, listed(*options.features), "features");
  std::vector<std::int64_t> features;
  for (std::int64_t column = 0; column < line.columns; ++column) {
    const bool is_taken = std::ranges::any_of(table.outputs, [&](const TableOutput& output) {
      return std::ranges::count(output.labels, column) > 0 || column == output.weights;
    });
    if (!is_taken) features.push_back(column);
  }
  if (features.empty()) {
    throw Error(
        fmt::format("{}: no column is left for features: the first line has {} cell{}, and 'labels'{} takes "
                    "all of them; if other characters separate the cells, name one in 'delimiter'",
                    line.file, line.columns, line.columns == 1 ? "" : "s", options.weights ? " with 'weights'" : ""));
  }
  for (std::size_t i = 0; i < line.crossings.size(); ++i)
    features.push_back(line.columns + static_cast<std::int64_t>(i));
  return features;
}

/// The column that is made of several.
AdaptedColumn crossed_column(const std::string& name, const config::Located<HashedCrossing>& options, const Csv& csv,
                             FirstLine line) {
  line.crossings.clear();  // it is made of the file's columns
  Crossing crossing{name, {}, options.value.num_bins, options.value.output_mode};
  const auto numbers = [&](const std::vector<CsvColumn>& columns) {
    return at_key(options, [&] { return numbers_of(line, columns, key_of("crosses", name)); });
  };
  const std::vector<std::int64_t> columns = numbers(options.value.columns), integers = numbers(options.value.integers);
  for (const std::int64_t column : columns) {
    const bool is_integer = std::ranges::count(integers, column) > 0;
    crossing.parts.push_back({column, is_integer, missing_of(csv, line.header, column) != nullptr});
  }
  at_key(options, [&] {
    if (std::ranges::count(crossing.parts, true, &Crossing::Part::is_integer) == std::ssize(integers)) return;
    throw Error("'integers' has a column that is none of 'columns'; add it there, or leave it out");
  });
  AdaptedColumn made{columns.front(), {}, {}, {}};
  made.crossing = std::move(crossing);
  return made;
}

/// The file's first line, with the names of the crossings.
FirstLine with_crossings(const Csv& options, const FirstLine& line) {
  FirstLine with = line;
  for (const auto& [name, crossing] : options.crosses.entries) {
    at_key(crossing, [&] {
      if (std::ranges::count(line.header, name) == 0) return;
      throw Error(fmt::format("{}: there is a column '{}' already; give the crossing another name", line.file,
                              shortened(name)));
    });
    with.crossings.push_back(name);
  }
  return with;
}

void require_used_crossings(const Csv& options, const AdaptedTable& table) {
  for (const auto& [name, crossing] : options.crosses.entries) {
    at_key(crossing, [&] {
      const auto is_this = [&](const AdaptedColumn& column) {
        return column.crossing && column.crossing->name == name;
      };
      if (std::ranges::any_of(table.features, is_this)) return;
      throw Error(fmt::format("no input has this column; name it in '{}', or leave it out",
                              options.inputs.empty() ? "features" : "inputs"));
    });
  }
}

/// Adds columns of numbers and words, each once, to those of the table.
TableInput::Numbers add_features(const std::vector<std::int64_t>& columns, bool is_list, const Csv& options,
                                 const FirstLine& line, AdaptedTable& table) {
  std::map<std::int64_t, std::size_t> known;  // by column, as crossings count on behind those of the file
  for (std::size_t i = 0; i < table.features.size(); ++i) {
    const AdaptedColumn& one = table.features[i];
    known.emplace(one.crossing ? number_of(line, one.crossing->name, "crosses") : one.column, i);
  }
  TableInput::Numbers numbers{{}, is_list};
  for (const std::int64_t column : columns) {
    const auto [place, is_new] = known.emplace(column, table.features.size());
    numbers.columns.push_back(place->second);
    if (!is_new) continue;
    if (column < line.columns) {
      table.features.push_back({column, {}, {}, {}});
    } else {
      const auto& [name, crossing] = options.crosses.entries[static_cast<std::size_t>(column - line.columns)];
      table.features.push_back(crossed_column(name, crossing, options, line));
    }
  }
  return numbers;
}

TableInput::Texts texts_of(const ContentColumn& options, std::int64_t column, bool may_be_empty) {
  TableInput::Texts texts{column, options.length.value_or(1), {}, "", may_be_empty};
  if (options.vocabulary) {
    texts.vocabulary = Vocabulary::read(options.vocabulary->text).tokens();
    texts.vocabulary_name = options.vocabulary->text;
  }
  return texts;
}

void add_input(const std::string& name, const config::Located<CsvInput>& input, const Csv& options,
               const FirstLine& line, AdaptedTable& table) {
  const std::vector<std::int64_t> columns = numbers_of(line, input, name);
  const auto* const content = std::get_if<ContentColumn>(&input.value);
  const bool has_cells = content != nullptr && content->as;
  at_key(input, [&] {
    if (has_cells && columns.front() >= line.columns) throw Error("a crossing is a number, no picture or text");
  });
  if (content != nullptr && content->as == CellContent::kPicture) {
    const PictureForm form{content->image_size, content->color.value_or(PictureColor::kRgb)};
    table.inputs.push_back({name, TableInput::Pictures{columns.front(), form}});
  } else if (content != nullptr && content->as == CellContent::kText) {
    table.inputs.push_back({name, at_key(input, [&] {
                              return texts_of(*content, columns.front(),
                                              missing_of(options, line.header, columns.front()) != nullptr);
                            })});
  } else {
    table.inputs.push_back({name, add_features(columns, is_list(input.value), options, line, table)});
  }
}

}  // namespace

const Missing* missing_of(const Csv& options, const std::vector<std::string>& header, std::int64_t column) {
  if (!options.missing) return nullptr;
  const auto is_column = [&](const std::string& key) {
    if (const auto found = std::ranges::find(header, key); found != header.end())
      return found - header.begin() == column;
    return number_in_text(key) == column;
  };
  const Missing* found = options.missing->one ? &*options.missing->one : nullptr;
  for (const auto& [key, missing] : options.missing->named.entries) {
    if (is_column(key)) found = &missing;
  }
  return found != nullptr && !std::holds_alternative<RefuseMissing>(*found) ? found : nullptr;
}

AdaptedTable table_of_options(const Csv& options, const FirstLine& line, bool wants_labels,
                              std::vector<std::string>& remarks) {
  AdaptedTable table;
  table.header = line.header;
  table.columns = line.columns;
  for (const CsvOutput& output : wants_labels ? outputs_of(options) : std::vector<CsvOutput>()) {
    table.outputs.push_back({output.name, numbers_of(line, *output.labels, output.name), std::nullopt});
    if (output.weights != nullptr) table.outputs.back().weights = number_of(line, *output.weights, output.name);
  }
  table.lists_features = options.features.has_value() || !options.inputs.empty();
  const FirstLine with = with_crossings(options, line);
  for (const auto& [name, input] : options.inputs.entries) add_input(name, input, options, with, table);
  if (options.inputs.empty()) {
    table.inputs.push_back({"", add_features(feature_columns(options, with, table), true, options, with, table)});
  }
  require_used_crossings(options, table);
  warn_of_equal_names(table, line, remarks);
  add_encodings(options, line, table);
  table.missing_values = options.missing_values.value_or(std::vector<std::string>());
  add_missing(options, line, table);
  return table;
}

}  // namespace mirrortrain::data
