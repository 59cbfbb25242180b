#include "survey/missing_cells.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "data/files/file_list.h"
#include "data/files/stream_input.h"
#include "data/tables/csv_rows.h"

namespace mirrortrain::survey {

namespace {

/// The names of the columns whose cells are words or texts.
std::set<std::string> word_columns(const data::Adapted& adapted) {
  std::set<std::string> names;
  if (!adapted.table) return names;
  const data::AdaptedTable& table = *adapted.table;
  const auto add = [&](std::int64_t column) {
    if (column < std::ssize(table.header)) names.insert(table.header[static_cast<std::size_t>(column)]);
  };
  for (const data::AdaptedColumn& column : table.features) {
    if (column.is_category()) add(column.column);
  }
  for (const data::TableInput& input : table.inputs) {
    if (const auto* const texts = std::get_if<data::TableInput::Texts>(&input.content)) add(texts->column);
  }
  for (const data::TableOutput& output : table.outputs) {
    if (adapted.classes_of(output.name).empty()) continue;
    for (const std::int64_t column : output.labels) add(column);
  }
  return names;
}

}  // namespace

std::vector<std::pair<std::string, std::int64_t>> missing_cells(const data::Csv& table, const data::Adapted& adapted) {
  constexpr std::int64_t kRowsTogether = 1024;
  const std::vector<std::string> marks = table.missing_values.value_or(std::vector<std::string>());
  const std::set<std::string> of_words = word_columns(adapted);
  std::vector<std::string> remarks, names;
  std::map<std::string, std::int64_t> missing;
  for (const std::string& path : data::expanded(table.file, remarks)) {
    data::CsvRows rows(data::TextAhead(std::make_unique<data::StreamInput>(path, nullptr)), table,
                       names.empty() ? nullptr : &names);
    if (names.empty()) names = rows.names();
    std::vector<std::string> wanted, own = rows.names();
    std::ranges::sort(own);
    if (std::ranges::adjacent_find(own) != own.end()) continue;  // names do not distinguish the columns
    std::ranges::copy_if(names, std::back_inserter(wanted),
                         [&](const std::string& name) { return std::ranges::binary_search(own, name); });
    rows.want(wanted);
    while (const auto part = rows.next(kRowsTogether)) {
      for (const std::vector<std::string>& row : part->cells) {
        for (std::size_t i = 0; i < std::min(row.size(), wanted.size()); ++i) {
          const std::string& cell = row[i];
          const bool is_mark = !of_words.contains(wanted[i]) && data::is_missing_mark(cell);
          if (cell.empty() || is_mark || std::ranges::find(marks, cell) != marks.end()) ++missing[wanted[i]];
        }
      }
    }
  }
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (const std::string& name : names) {
    if (const auto count = missing.find(name); count != missing.end()) found.emplace_back(*count);
  }
  return found;
}

}  // namespace mirrortrain::survey
