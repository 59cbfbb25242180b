#include "data/tables/table_rows.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/tables/csv_rows.h"
#include "data/tables/json_rows.h"

namespace mirrortrain::data {
namespace {

/// Whether what a pipe has begins as an object of JSON.
bool begins_with_brace(TextAhead& text) {
  constexpr std::string_view kBlank = " \t\r\n\xef\xbb\xbf";
  while (true) {
    const std::size_t begin = text.text().find_first_not_of(kBlank);
    if (begin != std::string_view::npos) return text.text()[begin] == '{';
    if (!text.read_more()) return false;
  }
}

}  // namespace

std::unique_ptr<TableRows> open_rows(const std::string& path, const Csv& options, const std::vector<std::string>* known,
                                     const AdaptedTable* table, bool reports_rows, std::function<bool()> stops) {
  TextAhead text(std::make_unique<StreamInput>(path, std::move(stops)));
  const std::string ending = ending_of(path);
  const bool has_no_ending = path == "-" || !text.bytes();
  const bool is_json =
      ending == ".jsonl" || ending == ".ndjson" || ending == ".json" || (has_no_ending && begins_with_brace(text));
  if (!is_json) return std::make_unique<CsvRows>(std::move(text), options, known);
  if (table != nullptr) return std::make_unique<JsonRows>(std::move(text), *table, options, reports_rows);
  throw UsageError(
      fmt::format("--data {}: JSON is for runs that were trained on a table, whose columns are the keys of "
                  "the objects; write CSV, .npy or .npz",
                  path));
}

}  // namespace mirrortrain::data
