#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "config/section.h"
#include "data/arrays/hdf5.h"
#include "data/arrays/idx.h"
#include "data/arrays/inline_data.h"
#include "data/arrays/npy.h"
#include "data/arrays/npz.h"
#include "data/arrays/synthetic.h"
#include "data/bad_examples.h"
#include "data/folders/image_folder.h"
#include "data/preprocessing/preprocessing.h"
#include "data/reading/sequences.h"
#include "data/records/tfrecord.h"
#include "data/records/webdataset.h"
#include "data/tables/csv.h"
#include "data/tables/parquet.h"
#include "data/text/text.h"

namespace mirrortrain::data {

/// The source of examples: the list of all data formats.
using Source =
    std::variant<Idx, Npy, Npz, Hdf5, Csv, Parquet, ImageFolder, TfRecord, WebDataset, Text, Inline, Synthetic>;

/// Whether a format is a table.
template <class Format>
inline constexpr bool is_table = std::is_base_of_v<Csv, Format>;
/// The table that a source is; null if it is none.
template <class... Formats>
const Csv* table_in(const std::variant<Formats...>& source) {
  return std::visit(
      [](const auto& held) -> const Csv* {
        if constexpr (is_table<std::decay_t<decltype(held)>>) return &held;
        return nullptr;
      },
      source);
}

/// The names that a source gives to its inputs and outputs.
template <class Format>
FieldNames field_names(const Format& source) {
  if constexpr (requires { source.field_names(); }) {
    return source.field_names();
  } else {
    return {{""}, {""}};
  }
}

/// A part of train: train keeps the first floor(n (1 - fraction)) examples, in random order or in the files' order; or
/// all folds but one, of which the first have an example more where they differ.
struct ValidationFraction {
  std::optional<double> fraction;
  std::optional<bool> shuffle;   ///< null: with folds, or if the files are sorted by class, like image_folder's
  std::optional<bool> stratify;  ///< null: if examples are drawn randomly and labels are classes
  std::optional<std::int64_t> folds, fold;  ///< in place of the fraction; `fold` from 1
  static config::Section<ValidationFraction> section();

  /// Whether the part is drawn at random, rather than taken from the files' end or in their order.
  bool is_drawn(bool is_sorted_by_class) const {
    return shuffle.value_or(stratify.value_or(false) || folds.has_value() || is_sorted_by_class);
  }

  /// Number of examples, out of `rows`, that train keeps.
  std::int64_t kept_of(std::int64_t rows) const {
    if (folds) return rows - rows / *folds - (fold.value_or(1) <= rows % *folds ? 1 : 0);
    return static_cast<std::int64_t>(std::floor(static_cast<double>(rows) * (1 - fraction.value_or(0))));
  }
};

/// A part of train, or a separate source.
template <class First, class Variant>
struct Before;
template <class First, class... Others>
struct Before<First, std::variant<Others...>> {
  using Type = std::variant<First, Others...>;
};
using Validation = Before<ValidationFraction, Source>::Type;

/// Where examples for GPUs are stored.
enum class Cache : std::uint8_t {
  kAuto,    ///< in GPU memory if they fit
  kDevice,  ///< in GPU memory
  kHost,    ///< in host memory: each step's rows are copied
};

/// How the examples are distributed over the workers of a run on several machines.
enum class AutoShard : std::uint8_t {
  kAuto,  ///< by files if each worker gets at least one, else as kData
  kFile,  ///< whole files, in order
  kData,  ///< every worker reads the same data, and uses its part of each global batch
  kOff,   ///< every worker visits all examples
};

/// The section `data`.
struct DataOptions {
  std::int64_t global_batch_size = 0;
  bool shuffle = true;
  bool drop_remainder = false;  ///< only affects training
  config::Located<Source> train;
  config::Located<std::optional<Validation>> validation;
  config::Located<std::optional<Source>> test;
  std::vector<PreprocessingStep> preprocessing;
  config::Located<std::optional<Sequences>> sequences;
  Cache cache = Cache::kAuto;
  AutoShard auto_shard = AutoShard::kAuto;
  std::optional<std::int64_t> threads;          ///< for reading ahead; null: the number of cores
  std::optional<config::Size> memory;           ///< of each split; null: see bytes_ahead and loading/holding.h
  std::optional<config::Path> cache_directory;  ///< null: in the system's temporary folder
  OnBadExample on_bad_example = OnBadExample::kError;
  static config::Section<DataOptions> section();
  /// The part of the training data that is the validation data; null if these are others, or there are none.
  const ValidationFraction* part_of_train() const {
    return validation.value ? std::get_if<ValidationFraction>(&*validation.value) : nullptr;
  }

  /// For examples read ahead, of each split.
  std::size_t bytes_ahead() const { return memory ? memory->bytes : std::size_t{512} << 20; }
};

/// Of data.sequences; empty if it is omitted.
inline std::vector<std::int64_t> bucket_boundaries(const DataOptions& options) {
  return options.sequences.value ? options.sequences.value->bucket_boundaries.value : std::vector<std::int64_t>();
}

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::Source> {
  static constexpr std::string_view tag = "format", noun = "a data source";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::Validation> {
  static constexpr std::string_view tag = "format", noun = "{fraction: ...} or a data source";
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::Cache> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::Cache>>({
      {"auto", mirrortrain::data::Cache::kAuto},
      {"device", mirrortrain::data::Cache::kDevice},
      {"host", mirrortrain::data::Cache::kHost},
  });
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::AutoShard> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::AutoShard>>({
      {"auto", mirrortrain::data::AutoShard::kAuto},
      {"file", mirrortrain::data::AutoShard::kFile},
      {"data", mirrortrain::data::AutoShard::kData},
      {"off", mirrortrain::data::AutoShard::kOff},
  });
};
