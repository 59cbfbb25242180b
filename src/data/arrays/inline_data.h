#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "data/dataset.h"
#include "data/fields.h"

namespace mirrortrain::data {

/// Numbers written in the configuration as nested lists, all of equal length at each depth.
struct InlineArray {
  Shape shape{0};                ///< rows first
  std::vector<double> elements;  ///< row-major
  bool whole = true;             ///< no number was written with a point or an exponent
  config::Value written;
  std::string path;  ///< "data.train.features"
};

/// Examples written in the configuration.
struct Inline : FieldsByName<InlineArray> {
  static constexpr std::string_view kName = "inline";
  static config::Section<Inline> section();
};

/// Features are float32 if that represents them all exactly, else float64; labels are int64 if all are integers, else
/// float64.
Examples read(const Inline& source);
/// Only the features.
std::vector<Features> read_features(const Inline& source);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::Codec<mirrortrain::data::InlineArray> {
  static bool accepts(const Value& value) { return value.is_sequence(); }
  static void read(const Node& node, mirrortrain::data::InlineArray& out);
  static Value show(const mirrortrain::data::InlineArray& array) { return array.written; }
  static Schema schema(const Rules& rules) { return detail::list_schema({}, rules, std::nullopt); }
};
