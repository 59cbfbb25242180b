#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"

namespace mirrortrain::report {

/// "225,034"
std::string with_thousands(std::int64_t number);

/// "17 B", "1.2 MiB"
std::string bytes_text(std::uint64_t bytes);

/// "0.8 s", "12 s", "3:05", "1:02:07"
std::string duration_text(double seconds);

/// The fewest digits that read back as the number; NaN is "nan" regardless of its sign.
std::string float_text(float value);

/// Four significant digits: "0.5123", "12.35", "1.230e-05".
std::string score_text(double value);

struct LayerRow {
  std::string name, type;
  Shape output_shape;  ///< without the rows
  std::int64_t parameters = 0;
};

/// The layers as a table: name (type), output shape, parameters, followed by the totals.
std::string layer_table(std::span<const LayerRow> layers, std::int64_t trainable_parameters);

/// "a, b, c and 4 more", listing at most `most` names.
std::string first_of(const std::vector<std::string>& names, std::size_t most);

}  // namespace mirrortrain::report
