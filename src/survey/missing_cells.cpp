#include "survey/missing_cells.h"

#include <algorithm>
#include <memory>

#include "data/files/file_list.h"
#include "data/files/stream_input.h"
#include "data/tables/csv_rows.h"

namespace mirrortrain::survey {

std::vector<std::pair<std::string, std::int64_t>> missing_cells(const data::Csv& table) {
  constexpr std::int64_t kRowsTogether = 1024;
  const std::vector<std::string> marks = table.missing_values.value_or(std::vector<std::string>());
  const auto is_missing = [&](const std::string& cell) {
    return cell.empty() || data::is_missing_mark(cell) || std::ranges::find(marks, cell) != marks.end();
  };
  std::vector<std::string> remarks, names;
  std::vector<std::int64_t> missing;
  for (const std::string& path : data::expanded(table.file, remarks)) {
    data::CsvRows rows(data::TextAhead(std::make_unique<data::StreamInput>(path, nullptr)), table,
                       names.empty() ? nullptr : &names);
    if (names.empty()) {
      names = rows.names();
      missing.resize(names.size());
    }
    std::vector<std::string> distinct = rows.names();
    std::ranges::sort(distinct);
    if (std::ranges::adjacent_find(distinct) != distinct.end()) continue;  // columns cannot be told apart by names
    rows.want(rows.names());
    while (const auto part = rows.next(kRowsTogether)) {
      for (const std::vector<std::string>& row : part->cells) {
        for (std::size_t i = 0; i < std::min(row.size(), missing.size()); ++i) missing[i] += is_missing(row[i]) ? 1 : 0;
      }
    }
  }
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (missing[i] > 0) found.emplace_back(names[i], missing[i]);
  }
  return found;
}

}  // namespace mirrortrain::survey
