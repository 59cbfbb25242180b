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

/// A tensor of another program's file, and what becomes of it: one of its equal parts along an axis, and then its axes
/// in another order.
struct WeightSource {
  std::string name;
  std::int64_t parts = 1, part = 0, axis = -1;
  std::optional<std::vector<std::int64_t>> transpose;  ///< for each axis of the result the one it was

  static config::Section<WeightSource> section();
};

/// A tensor as it is, or what becomes of it.
using NamedWeight = std::variant<std::string, WeightSource>;

/// What becomes of a variable whose tensor the file does not have.
enum class MissingWeights : std::uint8_t {
  kError,
  kInitialize,  ///< it keeps the value of its initializer
};

/// A file whose tensors have names of their own, or that has those of a part of the model.
struct WeightsFile {
  config::Path file;
  MissingWeights missing = MissingWeights::kError;
  /// By globs of variables: the tensor; the n-th `*` of its name stands for what the glob's n-th one matched. Null:
  /// the variable keeps the value of its initializer.
  config::Located<config::Map<std::optional<NamedWeight>>> names;

  static config::Section<WeightsFile> section();
};

/// A file with every variable by its name, or one with names of its own.
using InitialWeights = std::variant<config::Path, WeightsFile>;

/// The path of the file.
const std::string& file_of(const InitialWeights& weights);

/// The tensor that a variable is: that of the first glob that matches its name, else the one of the same name. nullopt
/// where it keeps the value of its initializer.
std::optional<WeightSource> source_of(const WeightsFile& weights, std::string_view variable);

/// Adds an error for each glob that gives no variable of the model a tensor, and for a tensor's name with more `*` than
/// its glob.
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
