#include "train/inference/extra_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "data/row_blocks.h"
#include "data/tables/csv_text.h"
#include "train/inference/value_names.h"

namespace mirrortrain {
namespace {

/// Renumbers the columns of the remaining examples by their numbers in the whole data.
ExtraColumns numbered(ExtraColumns extra, const data::Dataset& examples) {
  if (left_out_within(examples) == 0) return extra;
  std::vector<std::vector<std::string>> rows;
  auto next = extra.rows.begin();
  for (const std::int64_t left_out : examples.left_out()->rows) {
    while (std::ssize(rows) < left_out && next != extra.rows.end()) rows.push_back(std::move(*next++));
    if (std::ssize(rows) == left_out) rows.emplace_back(extra.names.size());
  }
  std::move(next, extra.rows.end(), std::back_inserter(rows));
  extra.rows = std::move(rows);
  return extra;
}

/// What the names of an example's labels end in: "" for one alone, else their indices, but not along axes of 1.
std::vector<std::string> label_suffixes(const Shape& example) {
  std::vector<std::int64_t> several;
  std::ranges::copy_if(example, std::back_inserter(several), [](std::int64_t extent) { return extent != 1; });
  return index_suffixes(Shape(several));
}

/// A number as it is in the data: 0.1 in float32 is no 0.10000000149.
template <class T>
std::string number_text(T number) {
  if constexpr (std::is_same_v<T, float>) return fmt::format("{}", number);
  return fmt::format("{}", static_cast<double>(number));
}

/// The labels of rows for each output: the names of classes, if they have names; empty where one is missing.
ExtraColumns labels_of_rows(const std::vector<data::Labels>& outputs, std::int64_t first, std::int64_t rows,
                            std::size_t outputs_of_model, const data::Adapted* adapted) {
  ExtraColumns extra;
  extra.rows.resize(static_cast<std::size_t>(rows));
  for (const data::Labels& output : outputs) {
    const std::vector<std::string> suffixes = label_suffixes(output.array.row_shape());
    const std::vector<std::string> classes =
        adapted != nullptr ? adapted->classes_of(output.name) : std::vector<std::string>();
    for (const std::string& suffix : suffixes) {
      extra.names.push_back((outputs_of_model == 1 ? "label" : output.name + "_label") + suffix);
      extra.are_numbers.push_back(classes.empty());
    }
    data::with_element_type(output.array.dtype, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      std::int64_t row = first;
      data::for_each_row(output.array, first, rows, [&](const std::byte* bytes) {
        std::vector<std::string>& cells = extra.rows[static_cast<std::size_t>(row - first)];
        for (const T element : std::span(reinterpret_cast<const T*>(bytes), suffixes.size())) {
          const auto label = static_cast<double>(element);
          const bool has_name = label >= 0 && label < static_cast<double>(classes.size());
          cells.push_back(!output.is_present(row) ? ""
                          : has_name              ? classes[static_cast<std::size_t>(label)]
                                                  : number_text(element));
        }
        ++row;
      });
    });
  }
  return extra.names.empty() ? ExtraColumns{} : extra;
}

ExtraColumns labels_of_split(const data::Dataset& examples, const data::Adapted* adapted) {
  const std::vector<data::Labels>& outputs = examples.outputs();
  return numbered(labels_of_rows(outputs, examples.first_row(), examples.rows(), outputs.size(), adapted), examples);
}

ExtraColumns labels_of_archive(const data::Npz& archive, const data::Dataset& examples, const data::Adapted* adapted) {
  const std::vector<data::Labels> outputs = data::read_labels(archive);
  const std::int64_t rows = examples.rows() + left_out_within(examples);
  for (const data::Labels& output : outputs) {
    if (output.array.rows() == rows) continue;
    throw Error(fmt::format("{} has {} rows, but there are {} examples; labels need one row per example",
                            output.array.origin, output.array.rows(), rows));
  }
  return labels_of_rows(outputs, 0, rows, examples.outputs().size(), adapted);
}

/// The label of a picture that lies in a folder of its class's name, or of its number; null where that is none.
std::optional<std::string> label_of_folder(const std::filesystem::path& picture, const data::Adapted* adapted) {
  std::string folder = picture.parent_path().filename().string();
  const bool has_classes = adapted != nullptr && !adapted->classes.empty();
  if (has_classes ? std::ranges::binary_search(adapted->classes_of(""), folder) : data::number_in(folder).has_value()) {
    return folder;
  }
  return std::nullopt;
}

/// The pictures' files, and the labels that their folders say, where all do.
ExtraColumns columns_of_pictures(const WantedColumns& wanted, const data::Dataset& examples,
                                 const data::Adapted* adapted) {
  if (wanted.keep.empty() && !wanted.labels) return {};
  std::vector<std::string> files, labels;
  for (std::int64_t row = 0; row < examples.rows(); ++row) {
    files.push_back(pictures_of(examples)->row_text(examples.first_row() + row));
    if (const auto label = label_of_folder(files.back(), adapted)) labels.push_back(*label);
  }
  const bool has_labels = wanted.labels && labels.size() == files.size();
  ExtraColumns extra{wanted.keep, wanted.keep.size()};
  if (has_labels) extra.names.emplace_back("label");
  for (std::size_t row = 0; row < files.size(); ++row) {
    std::vector<std::string>& cells = extra.rows.emplace_back(wanted.keep.size(), files[row]);
    if (has_labels) cells.push_back(labels[row]);
  }
  return numbered(std::move(extra), examples);
}

void require_distinct(const std::vector<std::string>& keep) {
  std::set<std::string> names;
  for (const std::string& column : keep) {
    if (!names.insert(column).second) throw UsageError(fmt::format("--keep: {} is listed twice", column));
  }
}

}  // namespace

const data::ExampleSource* pictures_of(const data::Dataset& examples) {
  const auto found = std::ranges::find_if(examples.inputs(), [](const auto& input) { return input.source != nullptr; });
  return found == examples.inputs().end() ? nullptr : found->source.get();
}

std::int64_t left_out_within(const data::Dataset& examples) {
  const data::LeftOut* const left = examples.left_out();
  return left != nullptr && left->examples == examples.rows() + left->count() ? left->count() : 0;
}

namespace {

void refuse_keep(const WantedColumns& wanted, const char* why) {
  if (wanted.keep.empty()) return;
  throw UsageError(std::string("--keep takes columns of a new table, or file of new pictures; ") + why);
}

}  // namespace

ExtraColumns split_columns(const WantedColumns& wanted, const data::Dataset& examples, const data::Adapted* adapted) {
  refuse_keep(wanted, "give it with --data");
  return wanted.labels ? labels_of_split(examples, adapted) : ExtraColumns{};
}

ExtraColumns new_columns(const WantedColumns& wanted, const data::Source& source, const data::Dataset& examples,
                         const data::Adapted* adapted) {
  require_distinct(wanted.keep);
  const bool are_pictures = pictures_of(examples) != nullptr;
  if (!are_pictures || std::ranges::any_of(wanted.keep, [](const auto& one) { return one != "file"; })) {
    refuse_keep(wanted, are_pictures ? "pictures have no other column" : "--data is none of both");
  }
  if (are_pictures) return columns_of_pictures(wanted, examples, adapted);
  const auto* const archive = std::get_if<data::Npz>(&source);
  return archive != nullptr && wanted.labels ? labels_of_archive(*archive, examples, adapted) : ExtraColumns{};
}

TableColumns table_columns(const WantedColumns& wanted, const data::Adapted* adapted,
                           const std::vector<std::string>& names) {
  require_distinct(wanted.keep);
  const std::vector<std::string> known =
      adapted != nullptr && adapted->table ? adapted->table->header : std::vector<std::string>();
  TableColumns all{{wanted.keep, wanted.keep.size(), {}, false, {}}, wanted.keep};
  ExtraColumns& extra = all.extra;
  for (const data::TableOutput& output :
       wanted.labels && !known.empty() ? adapted->table->outputs : std::vector<data::TableOutput>()) {
    const auto name_of = [&](std::int64_t column) { return known[static_cast<std::size_t>(column)]; };
    const auto has = [&](std::int64_t column) { return std::ranges::count(names, name_of(column)) > 0; };
    if (!std::ranges::all_of(output.labels, has)) continue;
    const std::vector<std::string> suffixes = label_suffixes(Shape{std::ssize(output.labels)});
    for (std::size_t i = 0; i < suffixes.size(); ++i) {
      all.columns.push_back(name_of(output.labels[i]));
      extra.names.push_back((adapted->table->outputs.size() == 1 ? "label" : output.name + "_label") + suffixes[i]);
      extra.are_numbers.resize(extra.names.size());
      extra.are_numbers.back() = adapted->classes_of(output.name).empty();
    }
  }
  return all;
}

void empty_missing_labels(std::vector<std::vector<std::string>>& rows, const ExtraColumns& extra,
                          const std::vector<std::string>& marks) {
  for (std::vector<std::string>& row : rows) {
    for (std::size_t i = extra.kept; i < row.size(); ++i) {
      const bool is_number = i < extra.are_numbers.size() && extra.are_numbers[i];
      if (std::ranges::count(marks, row[i]) > 0 || (is_number && data::is_missing_mark(row[i]))) row[i].clear();
    }
  }
}

}  // namespace mirrortrain
