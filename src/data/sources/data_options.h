#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"
#include "data/arrays/idx.h"
#include "data/arrays/inline_data.h"
#include "data/arrays/npy.h"
#include "data/arrays/npz.h"
#include "data/arrays/synthetic.h"
#include "data/bad_examples.h"
#include "data/pictures/image_folder.h"
#include "data/preprocessing/preprocessing.h"
#include "data/reading/sequences.h"
#include "data/records/tfrecord.h"
#include "data/tables/csv.h"
#include "data/text/text.h"

namespace mirrortrain::data {

/// Where examples come from: the one list of data formats.
using Source = std::variant<Idx, Npy, Npz, Csv, ImageFolder, TfRecord, Text, Inline, Synthetic>;

/// A part of train: train keeps the first floor(n (1 - fraction)) examples, of an order that the seed draws or of the
/// files' own.
struct ValidationFraction {
  double fraction = 0;
  std::optional<bool> shuffle;   ///< null: where the files are sorted by class, as image_folder's
  std::optional<bool> stratify;  ///< null: where examples are drawn and labels are classes
  static config::Section<ValidationFraction> section();

  /// How many of so many examples train keeps.
  std::int64_t kept_of(std::int64_t rows) const {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(rows) * (1 - fraction)));
  }
};

/// A part of train, or a source of its own.
template <class First, class Variant>
struct Before;
template <class First, class... Others>
struct Before<First, std::variant<Others...>> {
  using Type = std::variant<First, Others...>;
};
using Validation = Before<ValidationFraction, Source>::Type;

/// Where GPUs find the examples.
enum class Cache : std::uint8_t {
  kAuto,    ///< in their memory if they fit
  kDevice,  ///< in their memory
  kHost,    ///< in the host's: each step's rows are copied over
};

/// How the examples are dealt to the workers of a run on several machines.
enum class AutoShard : std::uint8_t {
  kAuto,  ///< by files where each worker gets one at least, else as kData
  kFile,  ///< whole files, in order
  kData,  ///< every worker reads the same data, and takes its part of each global batch
  kOff,   ///< every worker goes through all examples
};

/// The section `data`.
struct DataOptions {
  std::int64_t global_batch_size = 0;
  bool shuffle = true;
  bool drop_remainder = false;  ///< concerns training alone
  config::Located<Source> train;
  config::Located<std::optional<Validation>> validation;
  config::Located<std::optional<Source>> test;
  std::vector<PreprocessingStep> preprocessing;
  config::Located<std::optional<Sequences>> sequences;
  Cache cache = Cache::kAuto;
  AutoShard auto_shard = AutoShard::kAuto;
  std::optional<std::int64_t> threads;          ///< that read ahead of the steps; null: as many as there are cores
  config::Size memory{std::size_t{512} << 20};  ///< for what they have read
  OnBadExample on_bad_example = OnBadExample::kError;
  static config::Section<DataOptions> section();
};

/// Of data.sequences; none where it is left out.
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
