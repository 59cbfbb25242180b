#include "data/new_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "data/csv_table.h"

namespace mirrortrain::data {
namespace {

/// The options of the test or the training data, if they are of this format.
template <class Format>
Format options_of(const DataOptions& options) {
  if (options.test.value) {
    if (const auto* test = std::get_if<Format>(&*options.test.value)) return *test;
  }
  if (const auto* train = std::get_if<Format>(&options.train.value)) return *train;
  return {};
}

bool has_tables(const DataOptions& options) {
  return std::holds_alternative<Csv>(options.train.value) ||
         (options.test.value && std::holds_alternative<Csv>(*options.test.value));
}

Source with_file(const Source& format, const config::Path& file, const DataOptions& options) {
  return std::visit(
      [&](const auto& held) -> Source {
        using Format = std::decay_t<decltype(held)>;
        Format source = options_of<Format>(options);
        if constexpr (requires { source.images = file; }) {
          source.images = file;
        } else if constexpr (requires { source.directory = file; }) {
          source.directory = file;
          source.labels.reset();
        } else if constexpr (requires { source.files = Files(file); }) {
          source.files = Files(file);
        } else if constexpr (requires { source.file = file; }) {
          source.file = file;
        } else if constexpr (requires { source.features = Files(file); }) {
          source.features = Files(file);
        } else {
          throw UsageError(
              fmt::format("--data {}: cannot tell the format: name a .csv, .npy or .npz file (the run's data are {})",
                          file.text, Format::kName));
        }
        return source;
      },
      format);
}

Array read_features(const Idx& source) { return read_files(source.images, read_idx); }
Array read_features(const Npy& source) {
  return read_files(source.features, [](const std::string& path) { return read_npy(*open_input(path)); });
}
template <class Format>
Array read_features(const Format& source) {
  return read(source).features;
}

Array zeros(std::int64_t rows, std::int64_t depth, const InputSpec& spec, const std::string& origin) {
  std::vector<std::int64_t> dims = spec.labels.dims();
  if (depth > 0 && !dims.empty()) dims.pop_back();
  dims.insert(dims.begin(), rows);
  Array labels(DType::kFloat32, Shape(std::move(dims)), origin);
  std::fill_n(labels.bytes.data(), labels.bytes.size(), std::byte{0});
  return labels;
}

/// Where the run was not trained on a table, every column is a feature.
void require_width(const Array& features, const Adapted& adapted, const InputSpec& spec) {
  const std::int64_t wanted = spec.features.elements();
  if (adapted.table || spec.features.rank() > 1 || features.row_elements() == wanted) return;
  throw Error(
      fmt::format("{}: expected {} columns, those of the model's input, found {}; the run was not trained on a table, "
                  "so no column is taken for a label: remove what is no feature",
                  features.origin, wanted, features.row_elements()));
}

Examples new_pictures(const ImageFolder& source) {
  return has_pictures(source) ? find_new_pictures(source) : find_pictures(source, nullptr).examples;
}

}  // namespace

Source new_source(const std::string& path, const DataOptions& options) {
  const config::Path file{std::filesystem::absolute(path).string()};
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  if (std::filesystem::is_directory(path)) return with_file(ImageFolder{}, file, options);
  if (ending == ".csv" || ending == ".tsv") {
    Csv table = std::get<Csv>(with_file(Csv{}, file, options));
    if (!has_tables(options)) table.labels = std::vector<CsvColumn>{};  // no column is known to be one
    return table;
  }
  if (ending == ".npy") return with_file(Npy{}, file, options);
  if (ending == ".npz") return with_file(Npz{}, file, options);
  return with_file(options.test.value ? *options.test.value : options.train.value, file, options);
}

Dataset read_new(const Source& source, const Adapted& adapted, std::int64_t depth, const InputSpec& spec) {
  const auto* const pictures = std::get_if<ImageFolder>(&source);
  const auto* const records = std::get_if<TfRecord>(&source);
  if (pictures != nullptr || records != nullptr) {  // which may be read when they are asked for alone
    Examples examples = pictures != nullptr ? new_pictures(*pictures) : read_without_labels(*records);
    examples.labels = zeros(examples.features.rows(), depth, spec, examples.features.origin);
    return Dataset(std::move(examples));
  }
  Array features = std::visit(
      [&](const auto& held) -> Array {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, Csv>) {
          Array columns = encoded(read_table(held, {&adapted, false}), adapted).features;
          require_width(columns, adapted, spec);
          return columns;
        } else if constexpr (std::is_same_v<std::decay_t<decltype(held)>, ImageFolder> ||
                             std::is_same_v<std::decay_t<decltype(held)>, TfRecord>) {
          throw Error("pictures are read when they are asked for");
        } else {
          return read_features(held);
        }
      },
      source);
  Array labels = zeros(features.rows(), depth, spec, features.origin);
  return Dataset({std::move(features), std::move(labels)});
}

}  // namespace mirrortrain::data
