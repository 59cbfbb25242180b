#include "train/inference/extra_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "data/loading/new_data.h"

namespace mirrortrain {
namespace {

/// Renumbers the columns of the remaining examples by their numbers in the whole data.
ExtraColumns numbered(ExtraColumns extra, const data::Dataset& examples) {
  if (left_out_within(examples) == 0) return extra;
  for (const std::int64_t row : examples.left_out()->rows) {
    if (row <= std::ssize(extra.rows)) extra.rows.insert(extra.rows.begin() + row, {""});
  }
  return extra;
}

/// The labels of a split with one label per example: the names of classes, if they have names.
ExtraColumns labels_of_split(const data::Dataset& examples, const data::Adapted* adapted) {
  if (examples.labels().row_elements() != 1) return {};
  ExtraColumns extra{{"label"}, {}};
  const std::int64_t first = examples.first_row();
  data::with_element_type(examples.labels().dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (std::int64_t row = first; row < first + examples.rows(); ++row) {
      const auto label = static_cast<double>(examples.labels().span<T>()[static_cast<std::size_t>(row)]);
      const bool has_name = adapted != nullptr && label >= 0 && label < static_cast<double>(adapted->classes.size());
      extra.rows.push_back({has_name ? adapted->classes[static_cast<std::size_t>(label)] : fmt::format("{}", label)});
    }
  });
  return numbered(std::move(extra), examples);
}

/// The image files.
ExtraColumns files_of(const data::Dataset& examples) {
  ExtraColumns extra{{"file"}, {}};
  for (std::int64_t row = 0; row < examples.rows(); ++row) {
    extra.rows.push_back({examples.source()->row_text(examples.first_row() + row)});
  }
  return numbered(std::move(extra), examples);
}

/// The classes of images in folders named after the classes; nothing if any image is not in one.
ExtraColumns labels_of_folders(const data::Dataset& examples, const data::Adapted* adapted) {
  if (adapted == nullptr || examples.source() == nullptr) return {};
  ExtraColumns extra{{"label"}, {}};
  for (std::int64_t row = 0; row < examples.rows(); ++row) {
    const std::filesystem::path picture = examples.source()->row_text(examples.first_row() + row);
    const std::string folder = picture.parent_path().filename().string();
    if (!std::ranges::binary_search(adapted->classes, folder)) return {};
    extra.rows.push_back({folder});
  }
  return numbered(std::move(extra), examples);
}

}  // namespace

std::int64_t left_out_within(const data::Dataset& examples) {
  const data::LeftOut* const left = examples.left_out();
  return left != nullptr && left->examples == examples.rows() + left->count() ? left->count() : 0;
}

ExtraColumns extra_columns(const WantedColumns& wanted, const data::DataOptions& options, const data::Adapted* adapted,
                           const data::Dataset& examples) {
  const auto refuse_keep = [&](const char* why) {
    if (!wanted.keep.empty())
      throw UsageError(std::string("--keep takes columns of a new table, or file of pictures; ") + why);
  };
  if (!wanted.data) {
    refuse_keep("give it with --data");
    return wanted.labels ? labels_of_split(examples, adapted) : ExtraColumns{};
  }
  const data::Source source = data::new_source(*wanted.data, options);
  const auto* const table = std::get_if<data::Csv>(&source);
  if (table == nullptr) {
    const bool keeps_files = wanted.keep == std::vector<std::string>{"file"} && examples.source() != nullptr;
    if (keeps_files && !wanted.labels) return files_of(examples);
    refuse_keep("--data is none");
    return wanted.labels ? labels_of_folders(examples, adapted) : ExtraColumns{};
  }
  const std::vector<std::string> known =
      adapted != nullptr && adapted->table ? adapted->table->header : std::vector<std::string>();
  std::vector<std::string> columns = wanted.keep;
  ExtraColumns extra{wanted.keep, {}};
  if (wanted.labels && !known.empty() && adapted->table->labels.size() == 1) {
    const std::string& label = known[static_cast<std::size_t>(adapted->table->labels.front())];
    if (data::has_column(*table, label, known)) {
      columns.push_back(label);
      extra.names.emplace_back("label");
    }
  }
  if (!columns.empty()) extra.rows = data::column_texts(*table, columns, known);
  return extra;
}

}  // namespace mirrortrain
