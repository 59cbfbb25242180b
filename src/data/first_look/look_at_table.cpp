#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/utf8.h"
#include "config/document.h"
#include "config/known_names.h"
#include "data/files/parquet_input.h"
#include "data/first_look/feature_columns.h"
#include "data/first_look/parts.h"
#include "data/first_look/table_columns.h"
#include "data/tables/csv.h"
#include "data/tables/mistaken_number.h"
#include "data/tables/parquet.h"

namespace mirrortrain::data {
namespace {

/// The column that --label names, else one with a typical name, else the last that may be one.
std::size_t label_column(const std::vector<TableColumn>& columns, const std::optional<std::string>& label,
                         const std::string& path) {
  const auto find = [&](const std::string& name, auto spelled) {
    const auto is_it = [&](const TableColumn& column) { return spelled(column.name) == name; };
    return static_cast<std::size_t>(std::ranges::find_if(columns, is_it) - columns.begin());
  };
  const auto as_it_is = [](const std::string& name) { return name; };
  if (label) {
    if (const std::size_t found = find(*label, as_it_is); found < columns.size()) return found;
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(label->data(), label->data() + label->size(), number);
    if (error == std::errc() && end == label->data() + label->size() && number < columns.size()) return number;
    std::vector<std::string> names;
    for (const TableColumn& column : columns) names.push_back(column.name);
    throw UsageError(fmt::format("--label {}: {} has no such column{}", *label, path,
                                 config::suggestion_or_known(*label, names, config::names_of_keys<Csv>())));
  }
  for (const char* usual : {"label", "labels", "class", "target", "y"}) {
    if (const std::size_t found = find(usual, in_lower_case); found < columns.size()) return found;
  }
  const auto may_be_label = [](const TableColumn& column) {
    return column.why_no_cells.empty() && !is_index_of_pandas(column.name);
  };
  const auto last = std::ranges::find_if(columns.rbegin(), columns.rend(), may_be_label);
  return last != columns.rend() ? static_cast<std::size_t>(columns.rend() - last) - 1 : columns.size() - 1;
}

void remark_on_labels(const TableColumn& labels, const Csv& csv, std::vector<std::string>& remarks) {
  if (labels.has_missing()) remarks.push_back("rows without a label are skipped");
  if (!labels.has_words()) return;
  const std::string& word = labels.words.begin()->first;
  const std::string hint = mistaken_number(word, csv.decimal.front());
  if (!hint.empty()) {
    remarks.push_back(fmt::format("labels such as '{}' are taken for classes; for numbers, {}", word, hint));
  }
  for (const auto& [mark, found] : labels.words) {
    if (!looks_missing(mark)) continue;
    remarks.push_back(
        fmt::format("the label '{}' of {} rows is taken for a class; if it stands for a missing one, remove these rows",
                    mark, found.count));
  }
}

}  // namespace

DataLook look_at_table(const FirstLook& at) {
  const std::string& path = at.path;
  const std::string first = at.first();
  DataLook look;
  Csv csv;
  csv.file = config::Path{path};
  const auto [columns, has_header] = table_columns(first, csv, look.remarks);
  const auto has_rows = [](const TableColumn& column) { return column.rows() > 0; };
  if (!columns.empty() && std::ranges::none_of(columns, has_rows)) {
    throw UsageError(fmt::format("{}: expected a row for each example, found the header alone", path));
  }
  const std::size_t label = label_column(columns, at.label, path);
  if (first != path) look.remarks.push_back(fmt::format("columns: as {} has them", first));
  const CsvColumn label_key = column_key(columns[label], label, has_header);
  if (!at.label) {
    look.remarks.push_back(fmt::format("label: {}{}; --label names another",
                                       label + 1 == columns.size() ? "the last column, " : "column ",
                                       text_of(label_key)));
  }
  csv.labels = labels_in(std::visit([](const auto& key) { return CsvColumns(key); }, label_key));
  FeatureColumns features(columns, label, has_header, std::filesystem::path(first).parent_path(), csv);
  if (features.none()) {
    const std::vector<std::string>& reasons = features.left_out();
    throw UsageError(fmt::format("{}: no column is left for features beside the label {}{}{}", path, text_of(label_key),
                                 reasons.empty() ? "" : ": ", fmt::join(reasons, "; ")));
  }
  look.remarks.insert(look.remarks.end(), features.proposed().begin(), features.proposed().end());
  look.remarks.insert(look.remarks.end(), features.left_out().begin(), features.left_out().end());
  const bool is_parquet = is_parquet_file(first);
  look.train = fmt::format("{{format: {}, file: {}, labels: {}", is_parquet ? Parquet::kName : Csv::kName,
                           at.name(path), text_of(label_key));
  if (csv.header && !is_parquet) look.train += fmt::format(", header: {}", *csv.header);
  look.train += features.text(look.remarks) + "}";
  look.skips_bad = columns[label].has_missing() || features.lacks_pictures();
  remark_on_labels(columns[label], csv, look.remarks);
  DataOptions options;
  options.train.value = csv;
  if (look.skips_bad) options.on_bad_example = OnBadExample::kSkip;
  describe(options, look);
  return look;
}

}  // namespace mirrortrain::data
