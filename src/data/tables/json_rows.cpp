#include "data/tables/json_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/blanks.h"
#include "base/csv_cell.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "config/scalar.h"
#include "data/tables/column_uses.h"
#include "data/tables/found_rows.h"

namespace mirrortrain::data {
namespace {

using JsonValue = nlohmann::json;

std::string quoted_cell(std::string_view text) {
  std::string cell;
  append_quoted_cell(text, cell);
  return cell;
}

std::string shown(const JsonValue& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return value.is_string() ? fmt::format("the text '{}'", shortened(value.get<std::string>())) : json_text(value);
}

bool is_blank(std::string_view line) { return line.find_first_not_of(kBlanks) == line.npos; }

}  // namespace

JsonRows::JsonRows(TextAhead text, const AdaptedTable& table, const Csv& options, bool reports_rows)
    : ahead_(std::move(text)), table_(table), reports_rows_(reports_rows) {
  std::vector<std::string> remarks;
  const ColumnUses uses = uses_of({ahead_.name(), table.header, table.columns}, table, options, false, remarks);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    Column& column = columns_.emplace_back();
    column.name = table.header.empty() ? std::to_string(i) : table.header[i];
    column.is_read = !uses[i].empty();
    for (const ColumnUse& use : uses[i]) {
      const bool is_picture = use.kind == ColumnUse::Kind::kPicture;
      const bool is_integer =
          use.kind == ColumnUse::Kind::kCrossed && table.features[use.place].crossing->parts[use.within].is_integer;
      column.must_be_integer = column.must_be_integer || is_integer;
      column.may_be_text = column.may_be_text && use.kind != ColumnUse::Kind::kNumber && !is_integer;
      column.may_be_number = column.may_be_number && !is_picture;
    }
    const auto same = std::ranges::count(columns_, column.name, &Column::name);
    if (same > 1 && column.is_read) {
      throw Error(
          fmt::format("{}: several columns of the training data are named '{}', so that no key of JSON can be "
                      "one of them; write CSV",
                      ahead_.name(), shortened(column.name)));
    }
  }
}

/// The next line, which may be blank; null where its end is not in memory, or nothing is left.
std::optional<std::string_view> JsonRows::line() const {
  const std::string_view text = ahead_.text();
  const std::size_t end = text.find('\n');
  if (end != text.npos) return text.substr(0, end + 1);
  return ahead_.is_whole() && !text.empty() ? std::optional(text) : std::nullopt;
}

bool JsonRows::at_end() {
  if (ahead_.line() == 1) ahead_.pass_byte_order_mark();
  while (true) {
    const auto next = line();
    if (!next) {
      if (ahead_.text().size() > kLongestRow) {
        fail_at_long_row(ahead_.name(), ahead_.line(), "write each example as an object on a line of its own");
      }
      if (!ahead_.read_more() && !line()) return true;
    } else if (is_blank(*next)) {
      ahead_.pass(next->size());
    } else {
      return false;
    }
  }
}

/// "new.jsonl:3: row 1 (counting from 0)"
std::string JsonRows::place() const {
  return fmt::format("{}:{}: row {} (counting from 0)", ahead_.name(), ahead_.line(), row_);
}

JsonValue JsonRows::object_in(std::string_view line) const {
  const auto refuse_twice = [&](const std::string& key) {
    throw Error(fmt::format("{}: the key '{}' is in this object twice; leave one out", place(), shortened(key)));
  };
  JsonValue object;
  try {
    object = parse_json<JsonValue>(line, {.key_twice = refuse_twice});
  } catch (const JsonValue::out_of_range&) {
    throw Error(fmt::format("{}: a number in this line is larger than any of 64 bits; correct it", place()));
  } catch (const JsonValue::parse_error& error) {
    throw Error(
        fmt::format("{}: this line is no JSON, as character {} shows; write an object a line, as {{\"{}\": "
                    "...}}{}",
                    place(), error.byte, columns_.front().name, remedy()));
  }
  if (object.is_object()) return object;
  throw Error(fmt::format("{}: expected an object with the columns' names as keys, as {{\"{}\": ...}}, found {}{}",
                          place(), columns_.front().name, shown(object), remedy()));
}

/// What makes lines of other JSON.
std::string JsonRows::remedy() const {
  if (ahead_.name() == "stdin") return "";
  return fmt::format("; jq -c '.[]?' {} makes lines of a list of objects", ahead_.name());
}

void JsonRows::require_known(const JsonValue& object) const {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::count(columns_, key, &Column::name) > 0 || std::ranges::count(wanted_, key) > 0) continue;
    std::vector<std::string> names;
    for (const Column& column : columns_) names.push_back(column.name);
    throw Error(
        fmt::format("{}: unknown key '{}'; the columns are {}{}; correct it, leave it out, or keep it with "
                    "--keep",
                    place(), shortened(key), shortened(fmt::format("{}", fmt::join(names, ", ")), 400),
                    config::suggestion(key, names)));
  }
}

std::string JsonRows::cell_of(const Column& column, const JsonValue& value) const {
  if (value.is_null() || !column.is_read) return "";
  if (column.may_be_text && value.is_string()) return quoted_cell(value.get<std::string>());
  const bool is_number = column.must_be_integer ? value.is_number_integer() : value.is_number();
  if (column.may_be_number && is_number) return json_text(value);
  throw Error(fmt::format("{}, key '{}': expected {}, found {}; null, or no such key, is an empty cell", place(),
                          shortened(column.name),
                          !column.may_be_text     ? column.must_be_integer ? "a whole number" : "a number"
                          : !column.may_be_number ? "a text"
                                                  : "a text or a number",
                          shown(value)));
}

std::string JsonRows::cells_of(const JsonValue& object) const {
  require_known(object);
  std::string row;
  for (const Column& column : columns_) {
    if (&column != &columns_.front()) row += ',';
    if (const auto found = object.find(column.name); found != object.end()) row += cell_of(column, *found);
  }
  // A line with nothing in it would be no row.
  return (columns_.size() == 1 && row.empty() ? "\"\"" : row) + '\n';
}

std::vector<std::string> JsonRows::names() {
  std::vector<std::string> names;
  if (at_end()) return names;
  try {
    const JsonValue first = object_in(*line());
    for (const auto& [key, value] : first.items()) names.push_back(key);
  } catch (const Error&) {
    if (!reports_rows_) throw;
  }
  return names;
}

void JsonRows::want(const std::vector<std::string>& columns) {
  wanted_ = columns;
  const std::vector<std::string> known = names();
  for (const std::string& column : columns) {
    if (std::ranges::count(columns_, column, &Column::name) > 0 || std::ranges::count(known, column) > 0) continue;
    throw Error(fmt::format("{}: there is no key '{}' to keep; those of the first object are {}{}", ahead_.name(),
                            shortened(column), shortened(fmt::format("{}", fmt::join(known, ", ")), 200),
                            config::suggestion(column, known)));
  }
}

std::optional<TablePart> JsonRows::next(std::int64_t most) {
  if (at_end()) return std::nullopt;
  TablePart part;
  std::string rows;
  CsvPlaces places{1, row_};
  const std::int64_t first = row_;
  while (row_ - first < most) {
    if (!line()) {
      if (!ahead_.has_more_now() || ahead_.text().size() > kLongestRow) break;
      ahead_.read_more();
      continue;
    }
    if (is_blank(*line())) {
      ahead_.pass(line()->size());
      continue;
    }
    try {
      const JsonValue object = object_in(*line());
      rows += cells_of(object);
      if (!wanted_.empty()) {
        std::vector<std::string>& cells = part.cells.emplace_back();
        for (const std::string& name : wanted_) {
          const auto found = object.find(name);
          cells.push_back(found == object.end() ? "null" : found->dump());
        }
      }
    } catch (const Error& error) {
      if (!reports_rows_) throw;
      if (row_ > first) break;  // and is a part of its own
      part.fault = error.what();
      if (!wanted_.empty()) part.cells.emplace_back(wanted_.size());
    }
    places.lines.push_back(ahead_.line());
    ahead_.pass(line()->size());
    ++row_;
    ++part.count;
    if (!part.fault.empty()) return part;
  }
  part.rows.emplace(FirstLine{ahead_.name(), table_.header, table_.columns}, rows, ',', '.', std::move(places));
  return part;
}

}  // namespace mirrortrain::data
