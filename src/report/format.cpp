#include "report/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/utf8.h"

namespace mirrortrain::report {
std::string with_thousands(std::int64_t number) {
  std::string text = fmt::format("{}", number);
  const std::ptrdiff_t first_digit = number < 0 ? 1 : 0;
  for (std::ptrdiff_t place = static_cast<std::ptrdiff_t>(text.size()) - 3; place > first_digit; place -= 3) {
    text.insert(static_cast<std::size_t>(place), 1, ',');
  }
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95; value /= 1024) ++unit;  // 1023.95 would show as 1024.0
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0)) return "?";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e15)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string float_text(float value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

std::string score_text(double value) {
  const double size = std::abs(value);
  if (std::isnan(value)) return "nan";  // regardless of its sign
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (size != 0 && (size < 1e-3 || size >= 1e5)) return fmt::format("{:.3e}", value);
  return fmt::format("{:.{}f}", value, size < 100 ? 4 : 2);
}

std::string layer_table(std::span<const LayerRow> layers, std::int64_t trainable_parameters) {
  const std::string layer_title = "layer (type)", shape_title = "output shape", parameters_title = "parameters";
  const auto label = [](const LayerRow& row) { return fmt::format("{} ({})", row.name, row.type); };
  std::size_t layer_width = layer_title.size(), shape_width = shape_title.size();
  std::int64_t parameters = 0;
  for (const LayerRow& row : layers) {
    layer_width = std::max(layer_width, display_width(label(row)));
    shape_width = std::max(shape_width, row.output_shape.text().size());
    parameters += row.parameters;
  }
  const auto line = [&](const std::string& layer, const std::string& shape, const std::string& count) {
    return fmt::format("{}  {:<{}}  {:>{}}\n", padded(layer, layer_width), shape, shape_width, count,
                       std::max<std::size_t>(parameters_title.size(), with_thousands(parameters).size()));
  };
  std::string table = line(layer_title, shape_title, parameters_title);
  for (const LayerRow& row : layers) table += line(label(row), row.output_shape.text(), with_thousands(row.parameters));
  table += fmt::format("{} parameters ({}), {} of them trainable\n", with_thousands(parameters),
                       bytes_text(static_cast<std::uint64_t>(parameters) * sizeof(float)),
                       with_thousands(trainable_parameters));
  return table;
}

std::string first_of(const std::vector<std::string>& names, std::size_t most) {
  const std::size_t shown = std::min(names.size(), most);
  const auto text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

}  // namespace mirrortrain::report
