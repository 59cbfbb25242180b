#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "model/layers/recurrent.h"

namespace mirrortrain {

/// A layer that processes a sequence step by step.
using RecurrentLayer = std::variant<layers::SimpleRnn, layers::Lstm, layers::Gru>;

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::RecurrentLayer> {
  static constexpr std::string_view noun = "a recurrent layer";
  static constexpr auto advice =
      std::to_array<Advice>({{"dense", "expected one that goes along a sequence; choose simple_rnn, lstm or gru"}});
};

namespace mirrortrain::layers {

enum class MergeMode : std::uint8_t { kConcat, kSum, kMul, kAve };

/// A recurrent layer over the sequence and one over its reverse, whose outputs are merged: [steps, features] ->
/// [units], or [steps, units] of all states in the sequence's order. Variables: forward/... and backward/..., as the
/// layers'.
struct Bidirectional : LayerCommon {
  static constexpr std::string_view kName = "bidirectional";
  static constexpr bool kOptionsSetRank = true;
  static constexpr Masking kMasking = Masking::kOwn;
  RecurrentLayer layer;
  std::optional<RecurrentLayer> backward_layer;  ///< null: as `layer`
  MergeMode merge_mode = MergeMode::kConcat;

  static config::Section<Bidirectional> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers

template <>
struct mirrortrain::config::EnumNames<mirrortrain::layers::MergeMode> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::layers::MergeMode>>({
      {"concat", mirrortrain::layers::MergeMode::kConcat},
      {"sum", mirrortrain::layers::MergeMode::kSum},
      {"mul", mirrortrain::layers::MergeMode::kMul},
      {"ave", mirrortrain::layers::MergeMode::kAve},
  });
  static constexpr auto aliases = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"concat", "concatenate"}, {"sum", "add"}, {"mul", "multiply"}, {"ave", "average, avg, mean"}});
  static constexpr auto advice = std::to_array<Advice>(
      {{"null",
        "a layer has one output; expected a way to merge both, or take two layers, the second with "
        "go_backwards: true"}});
};
