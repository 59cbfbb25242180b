#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/map.h"
#include "config/section.h"
#include "model/model.h"

namespace mirrortrain {

/// A tensor of another program's file and its transformation: one of its equal parts along an axis, then a permutation
/// of its axes.
struct WeightSource {
  std::string name;
  std::int64_t parts = 1, part = 0, axis = -1;
  std::optional<std::vector<std::int64_t>> transpose;  ///< for each axis of the result the source's axis

  static config::Section<WeightSource> section();
};

/// A tensor's name, or a tensor with its transformation.
using NamedWeight = std::variant<std::string, WeightSource>;

/// How to handle a variable whose tensor the file does not have.
enum class MissingWeights : std::uint8_t {
  kError,
  kInitialize,  ///< it keeps the value of its initializer
};

/// A file whose tensors have other names, or that has only a part of the model's.
struct WeightsFile {
  config::Path file;
  MissingWeights missing = MissingWeights::kError;
  /// The tensors by globs of variables; the n-th `*` of a tensor's name is replaced by the match of the glob's n-th
  /// one. Null: the variable keeps the value of its initializer.
  config::Located<config::Map<std::optional<NamedWeight>>> names;

  static config::Section<WeightsFile> section();
};

/// A file with every variable by its name, or one with other names.
using InitialWeights = std::variant<config::Path, WeightsFile>;

/// The path of the file.
const std::string& file_of(const InitialWeights& weights);

/// The tensor of a variable: that of the first glob that matches its name, else the one with the same name. nullopt if
/// it keeps the value of its initializer.
std::optional<WeightSource> source_of(const WeightsFile& weights, std::string_view variable);

/// Adds an error for each glob that matches no variable of the model, and for a tensor's name with more `*` than its
/// glob.
void check_weight_names(const WeightsFile& weights, const std::vector<ModelVariable>& variables,
                        config::Errors& errors);

}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::MissingWeights> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::MissingWeights>>(
      {{"error", mirrortrain::MissingWeights::kError}, {"initialize", mirrortrain::MissingWeights::kInitialize}});
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::NamedWeight> {
  static constexpr std::string_view noun = "a tensor's name, or {name: ...}";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::InitialWeights> {
  static constexpr std::string_view noun = "a path, or {file: ..., names: ..., missing: ...}";
};
