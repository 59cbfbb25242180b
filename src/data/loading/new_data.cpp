#include "data/loading/new_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "data/files/stream_input.h"
#include "data/loading/holding.h"
#include "data/loading/model_fit.h"
#include "data/loading/open_source.h"
#include "data/loading/picture_form.h"
#include "data/pictures/picture_files.h"
#include "data/sources/abilities.h"
#include "data/tables/csv_table.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

/// The options of the test or the training data if they have this format.
template <class Format>
Format options_of(const DataOptions& options) {
  if constexpr (std::is_same_v<Format, Csv>) {
    const Csv* const test = options.test.value ? table_in(*options.test.value) : nullptr;
    const Csv* const table = test != nullptr ? test : table_in(options.train.value);
    return table != nullptr ? *table : Csv();
  }
  if (options.test.value) {
    if (const auto* test = std::get_if<Format>(&*options.test.value)) return *test;
  }
  if (const auto* train = std::get_if<Format>(&options.train.value)) return *train;
  return {};
}

bool has_tables(const DataOptions& options) {
  return table_in(options.train.value) != nullptr || (options.test.value && table_in(*options.test.value) != nullptr);
}

/// `files`: at least one.
Source with_files(const Source& format, const std::vector<config::Path>& files, const DataOptions& options) {
  const Files all = files.size() == 1 ? Files(files.front()) : Files(files);
  return std::visit(
      [&](const auto& held) -> Source {
        using Format = std::decay_t<decltype(held)>;
        Format source = options_of<Format>(options);
        if constexpr (requires { source.images = all; }) {
          source.images = all;
        } else if constexpr (requires { source.directory = files.front(); }) {
          source.directory = files.size() == 1 ? files.front() : config::Path{};
          source.labels.reset();
        } else if constexpr (requires { source.files = all; }) {
          source.files = all;
        } else if constexpr (requires { source.file = all; }) {
          source.file = all;
        } else if constexpr (requires { source.features = all; }) {
          source.features = all;
          source.inputs = {};
        } else {
          throw UsageError(fmt::format(
              "--data {}: unknown format: name a .csv, .parquet, .npy, .npz or .h5 file (the run's data are {})",
              files.front().text, Format::kName));
        }
        return source;
      },
      format);
}

FieldNames names_of(const Source& source) {
  return std::visit([](const auto& held) { return field_names(held); }, source);
}

/// An archive like those of the run; without any, one whose arrays have the names of the model's inputs and outputs.
Npz archive_like(const std::vector<config::Path>& files, const DataOptions& options) {
  Npz archive = std::get<Npz>(with_files(Npz{}, files, options));
  const FieldNames names = names_of(options.train.value);
  if (!archive.inputs.empty() || archive.features || names.inputs.front().empty()) return archive;
  for (const std::string& input : names.inputs) archive.inputs.entries.emplace_back(input, input);
  if (names.outputs.front().empty()) return archive;
  archive.labels = {};
  for (const std::string& output : names.outputs) archive.labels.named.entries.emplace_back(output, output);
  return archive;
}

/// Datasets with the names of the run's; without any, those of an archive, or of the model's inputs.
Hdf5 datasets_like(const std::vector<config::Path>& files, const DataOptions& options) {
  Hdf5 source = std::get<Hdf5>(with_files(Hdf5{}, files, options));
  if (source.features || !source.inputs.empty()) return source;
  const Npz archive = archive_like(files, options);
  source.features = archive.features;
  source.inputs = archive.inputs;
  if (!source.features && source.inputs.empty()) source.features = "x";
  return source;
}

/// Pictures are resized as those that the run was trained on are, where their own format says nothing.
Source with_form(Source source, const DataOptions& options) {
  const auto set = [&](auto& held) {
    if (held.image_size) return;
    const auto form = picture_form(options.train.value, nullptr, names_of(options.train.value).inputs.front());
    if (!form) return;
    held.image_size = form->image_size;
    held.color = form->color;
  };
  if (auto* const folder = std::get_if<ImageFolder>(&source)) set(*folder);
  if (auto* const samples = std::get_if<WebDataset>(&source)) set(*samples);
  return source;
}

/// Refuses a file of one input for a model that has several.
void require_all_inputs(const std::string& path, const Source& source, const DataOptions& options) {
  std::vector<std::string> wanted = names_of(options.train.value).inputs;
  const bool has_others = table_in(source) != nullptr && has_tables(options);  // those of the training data
  if (wanted.size() == 1 || has_others || names_of(source).inputs.size() > 1) return;
  const std::string inputs = fmt::format("{}", fmt::join(wanted, ", "));
  const Npz archive = archive_like({config::Path{path}}, options);
  for (std::string& name : wanted) {  // arrays may have other names than the inputs that they are for
    const std::string* const array = archive.inputs.find(name);
    if (array != nullptr) name = *array;
  }
  throw UsageError(
      fmt::format("--data {}: the model has the inputs {}, and this is the data of one; save them all as "
                  "numpy.savez(\"new.npz\", {}=...)",
                  path, inputs, fmt::join(wanted, "=..., ")));
}

/// The features alone: in memory, or to be read by position where they are too many.
template <class Format>
Examples new_features(const Format& source, const DataOptions& options) {
  if constexpr (requires { open_features(source); }) {
    return settled(
        {open_features(source), {}}, Holding(options), requires { source.all_inputs(); });
  } else if constexpr (requires { read_features(source); }) {
    return {read_features(source), {}};
  } else {
    return {read(source).inputs, {}};
  }
}

/// Labels of examples that are read by position.
class ZeroRows : public StoredRows {
 public:
  ZeroRows(std::int64_t rows, std::size_t row_bytes) : rows_(rows), row_bytes_(row_bytes) {}
  std::int64_t rows() const override { return rows_; }
  void read(std::int64_t, std::int64_t count, std::byte* to) const override {
    std::fill_n(to, static_cast<std::size_t>(count) * row_bytes_, std::byte{0});
  }
  std::string identity() const override { return ""; }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  std::int64_t rows_;
  std::size_t row_bytes_;
};

/// Labels for features, none of whose rows is read if `is_held` is false.
Array zeros(std::int64_t rows, std::int64_t depth, const LabelSpec& spec, const std::string& origin, bool is_held) {
  std::vector<std::int64_t> dims = spec.shape.dims();
  if (depth > 0 && !dims.empty()) dims.pop_back();
  dims.insert(dims.begin(), rows);
  if (!is_held) {
    Array labels;
    labels.shape = Shape(std::move(dims));
    labels.origin = origin;
    labels.stored = std::make_shared<ZeroRows>(rows, labels.row_bytes());
    return labels;
  }
  Array labels(DType::kFloat32, Shape(std::move(dims)), origin);
  std::fill_n(labels.bytes.data(), labels.bytes.size(), std::byte{0});
  return labels;
}

/// If the run was not trained on a table, every column is a feature.
void require_width(const Array& features, const Adapted& adapted, const InputSpec& spec) {
  const std::int64_t wanted = spec.shape.elements();
  if (adapted.table || spec.shape.rank() > 1 || features.row_elements() == wanted) return;
  throw Error(
      fmt::format("{}: expected {} columns, those of the model's input, found {}; the run was not trained on a table, "
                  "so no column is taken for a label: remove what is no feature",
                  features.origin, wanted, features.row_elements()));
}

Examples pictures_in(const ImageFolder& source, const std::vector<std::string>& files, bool passes_over_bad) {
  if (source.directory.text.empty()) return new_pictures(source, files, passes_over_bad);
  if (has_pictures(source)) return find_new_pictures(source, passes_over_bad);
  BadExamples none(OnBadExample::kSkip);  // the size is that of the first readable one; usable() finds the others
  return find_pictures(source, {}, passes_over_bad ? &none : nullptr).examples;
}

std::string_view format_name(const Source& source) {
  return std::visit([](const auto& held) -> std::string_view { return held.kName; }, source);
}

/// Pictures for a run on arrays: gray where its examples have one channel, or no axis for channels. Throws UsageError
/// for pictures that are none of its examples.
Examples pictures_for_arrays(ImageFolder source, const std::vector<std::string>& files, bool passes_over_bad,
                             const InputSpec& input, std::string_view format) {
  if (input.shape.rank() == 2 || (input.shape.rank() == 3 && input.shape.back() == 1)) {
    source.color = PictureColor::kGray;
  }
  Examples examples = pictures_in(source, files, passes_over_bad);
  const Shape found = examples.inputs.front().array.row_shape();
  if (features_mismatch(found, input).empty()) return examples;
  throw UsageError(
      fmt::format("--data {}: this is a picture of the shape {}, and the run's data are {}, with examples of {}; give "
                  "data of that format, or pictures of that shape",
                  files.front(), found.text(), format, input.shape.text()));
}

enum class NewFormat : std::uint8_t {
  kPictures,
  kTable,
  kParquet,
  kRowsOfJson,
  kArray,
  kArchive,
  kHdf5,
  kSamples,
  kOther
};

NewFormat format_of(const std::string& path, const DataOptions& options) {
  const std::string ending = ending_of(path);
  if (std::filesystem::is_directory(path)) return NewFormat::kPictures;
  if (is_picture_name(path)) return NewFormat::kPictures;
  if (path == "-" || ending == ".csv" || ending == ".tsv") return NewFormat::kTable;
  if (has_tables(options) && (ending == ".jsonl" || ending == ".ndjson" || ending == ".json"))
    return NewFormat::kRowsOfJson;
  if (ending == ".parquet" || ending == ".pq") return NewFormat::kParquet;
  if (ending == ".h5" || ending == ".hdf5") return NewFormat::kHdf5;
  if (ending == ".tar" || ending == ".tgz") return NewFormat::kSamples;
  if (ending == ".npy") return NewFormat::kArray;
  return ending == ".npz" ? NewFormat::kArchive : NewFormat::kOther;
}

/// Refuses what is packed in a way that no format reads.
void require_no_archive(const std::string& path, const DataOptions& options) {
  constexpr std::array<std::string_view, 5> kArchives = {".zip", ".7z", ".rar", ".xz", ".bz2"};
  const std::string ending = ending_of(path);
  if (std::ranges::count(kArchives, ending) == 0) return;
  throw UsageError(
      fmt::format("--data {}: {} archives are not read; unpack it, and give what is in it: files of the run's format, "
                  "{}, or a folder of pictures",
                  path, ending, format_name(options.train.value)));
}

Source source_of(const std::vector<std::string>& files, const DataOptions& options) {
  std::vector<config::Path> paths;
  for (const std::string& file : files) {
    paths.push_back({file == "-" ? file : std::filesystem::absolute(file).string()});
  }
  switch (format_of(files.front(), options)) {
    case NewFormat::kPictures: return with_form(with_files(ImageFolder{}, paths, options), options);
    case NewFormat::kSamples: return with_form(with_files(WebDataset{}, paths, options), options);
    case NewFormat::kHdf5: return datasets_like(paths, options);
    case NewFormat::kParquet:
    case NewFormat::kTable:
    case NewFormat::kRowsOfJson: {
      Csv table = std::get<Csv>(with_files(Csv{}, paths, options));
      if (!has_tables(options)) table.labels = {};  // no column is known to be a label
      const bool by_test = options.test.value && table_in(*options.test.value) != nullptr;
      if (has_tables(options)) table.key = by_test ? "data.test" : "data.train";
      return table;
    }
    case NewFormat::kArray: return with_files(Npy{}, paths, options);
    case NewFormat::kArchive: return archive_like(paths, options);
    case NewFormat::kOther: require_no_archive(files.front(), options); break;
  }
  return with_files(options.test.value ? *options.test.value : options.train.value, paths, options);
}

/// Refuses files of several formats, and folders beside others.
void require_one_format(const std::vector<std::string>& files, const DataOptions& options) {
  for (const std::string& file : files) {
    if (files.size() > 1 && std::filesystem::is_directory(file)) {
      throw UsageError(
          fmt::format("--data {}: a folder is read alone; name the files in it, as {}/*.png in quotes", file, file));
    }
    if (format_of(file, options) == format_of(files.front(), options)) continue;
    throw UsageError(fmt::format("--data: {} and {} have different formats; name files of one", files.front(), file));
  }
}

}  // namespace

std::vector<std::string> new_files(const std::vector<std::string>& named, std::vector<std::string>& remarks) {
  std::vector<std::string> files;
  for (const std::string& name : named) {
    if (name == "-" || name == "/dev/stdin") {
      if (named.size() > 1) throw UsageError(fmt::format("--data {}: stdin is read alone", name));
      return {"-"};
    }
    if (!has_wildcards(name) && !std::filesystem::exists(name)) {
      throw Error(fmt::format("--data {}: there is no such file or folder; check the path", name));
    }
    try {
      for (std::string& file : expanded(Files(config::Path{name}), remarks)) files.push_back(std::move(file));
    } catch (const Error& error) {
      throw Error(fmt::format("--data {}", error.what()));
    }
  }
  return files;
}

Source new_source(const std::vector<std::string>& files, const DataOptions& options) {
  require_one_format(files, options);
  Source source = source_of(files, options);
  require_all_inputs(files.front(), source, options);
  return source;
}

bool has_columns_of_pictures(const DataOptions& options) {
  const Csv* const table = table_in(options.train.value);
  return table != nullptr && std::ranges::any_of(table->inputs.entries, [](const auto& input) {
           const auto* const content = std::get_if<ContentColumn>(&input.second.value);
           return content != nullptr && content->as == CellContent::kPicture;
         });
}

Examples encoded_new(CsvTable table, const Adapted& adapted, const ExampleSpec& spec, BadExamples* bad) {
  Examples examples = encoded(std::move(table), adapted, bad);
  if (spec.inputs.size() == 1) require_width(examples.inputs.front().array, adapted, spec.inputs.front());
  return examples;
}

Dataset new_examples(Examples examples, const Wanted& wanted, BadExamples bad) {
  const Array& features = examples.inputs.front().array;
  // Where rows were left out, those that are left have their numbers in the labels.
  std::vector<std::int64_t> places;
  if (!examples.outputs.empty()) places = std::move(examples.outputs.front().array.picked);
  if (features.rows() == 0 && bad.any()) std::move(bad).left_out(0, features.origin);
  examples.outputs.clear();
  for (std::size_t i = 0; i < wanted.spec->labels.size(); ++i) {
    const LabelSpec& label = wanted.spec->labels[i];
    examples.outputs.push_back({label.name, zeros(features.rows(), wanted.one_hot_depth(i), label, features.origin,
                                                  !features.is_by_position())});
    examples.outputs.back().array.picked = places;
  }
  return usable(std::move(examples), wanted, std::move(bad));
}

Dataset read_new(const Source& source, const Adapted& adapted, const Wanted& wanted, OnBadExample on_bad, int threads,
                 const std::vector<std::string>& files, const DataOptions& options) {
  BadExamples bad(on_bad, threads);
  Examples examples = std::visit(
      [&](const auto& held) -> Examples {
        using Format = std::decay_t<decltype(held)>;
        if constexpr (is_table<Format>) {
          CsvTable table = table_of(held, {&adapted, false, bad.if_skips()}, Holding(options), threads);
          return encoded_new(std::move(table), adapted, *wanted.spec, bad.if_skips());
        } else if constexpr (std::is_same_v<Format, ImageFolder>) {
          const Source& run = options.train.value;
          const bool is_of_arrays = has_files_of_one_array(run) || std::holds_alternative<Npz>(run);
          return is_of_arrays
                     ? pictures_for_arrays(held, files, bad.skips(), wanted.spec->inputs.front(), format_name(run))
                     : pictures_in(held, files, bad.skips());
        } else if constexpr (std::is_same_v<Format, TfRecord>) {
          return read_without_labels(held, bad.if_skips());
        } else if constexpr (std::is_same_v<Format, WebDataset>) {
          return open_samples_without_labels(held, bad.if_skips(), Holding(options).unpacked);
        } else {
          return new_features(held, options);
        }
      },
      source);
  return new_examples(std::move(examples), wanted, std::move(bad));
}

}  // namespace mirrortrain::data
