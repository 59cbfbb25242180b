#include "report/page/diagram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirrortrain::report {
namespace {

/// Of the whole and of its margins, in units that CSS scales.
constexpr double kWidth = 340, kHeight = 280, kLeft = 46, kRight = 10, kTop = 10, kBottom = 40;

/// From the values of a diagram to places in the picture.
struct Scale {
  const Diagram& diagram;

  static double share(const Interval& axis, double value) {
    return (std::clamp(value, axis.low, axis.high) - axis.low) / (axis.high - axis.low);
  }
  double x(double value) const { return kLeft + share(diagram.x, value) * (kWidth - kLeft - kRight); }
  double y(double value) const { return kHeight - kBottom - share(diagram.y, value) * (kHeight - kTop - kBottom); }
};

std::string tick_text(double value) { return std::abs(value) < 1e-12 ? "0" : fmt::format("{:.3g}", value); }

Markup axes_of(const Diagram& diagram, const Scale& scale) {
  constexpr int kTicks = 4;
  Markup svg;
  for (int i = 0; i <= kTicks; ++i) {
    const double part = static_cast<double>(i) / kTicks;
    const double x = diagram.x.low + part * (diagram.x.high - diagram.x.low);
    const double y = diagram.y.low + part * (diagram.y.high - diagram.y.low);
    svg += markup("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", scale.x(x), kTop,
                  scale.x(x), kHeight - kBottom);
    svg += markup("<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>", kLeft, scale.y(y),
                  kWidth - kRight, scale.y(y));
    svg += markup("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", scale.x(x), kHeight - kBottom + 14,
                  i == kTicks ? "end" : "middle", tick_text(x));
    svg += markup("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 5, scale.y(y) + 4,
                  tick_text(y));
  }
  svg += markup("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", (kLeft + kWidth - kRight) / 2,
                kHeight - 8, diagram.across);
  const double middle = (kTop + kHeight - kBottom) / 2;
  svg += markup("<text x=\"10\" y=\"{:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 10 {:.1f})\">{}</text>\n",
                middle, middle, diagram.up);
  return svg;
}

Markup bars_of(const Diagram& diagram, const Scale& scale) {
  Markup svg;
  for (const Diagram::Bar& bar : diagram.bars) {
    const double left = scale.x(bar.from), top = scale.y(bar.height), bottom = scale.y(std::max(diagram.y.low, 0.0));
    svg += markup("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}</title></rect>\n",
                  left + 0.5, std::min(top, bottom), std::max(scale.x(bar.to) - left - 1, 1.0), std::abs(bottom - top),
                  bar.hint);
  }
  return svg;
}

Markup lines_of(const Diagram& diagram, const Scale& scale) {
  Markup svg;
  if (diagram.has_diagonal) {
    const double low = std::max(diagram.x.low, diagram.y.low), high = std::min(diagram.x.high, diagram.y.high);
    svg += markup("<path class=\"diagonal\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", scale.x(low), scale.y(low),
                  scale.x(high), scale.y(high));
  }
  for (std::size_t i = 0; i < diagram.lines.size(); ++i) {
    std::string path;
    for (const auto& [x, y] : diagram.lines[i].points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', scale.x(x), scale.y(y));
    }
    svg += markup("<path style=\"stroke:var(--series-{})\" d=\"{}\"/>\n", i % 8, path);
  }
  for (const auto& [x, y] : diagram.dots) {
    svg += markup("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>", scale.x(x), scale.y(y));
  }
  return svg;
}

Markup legend_of(const Diagram& diagram) {
  Markup html;
  for (std::size_t i = 0; i < diagram.lines.size(); ++i) {
    if (diagram.lines[i].name.empty()) continue;
    html += markup("<span class=\"swatch\" style=\"border-color:var(--series-{})\"></span>{} ", i % 8,
                   diagram.lines[i].name);
  }
  return html.text.empty() ? html : markup("<p class=\"hint\">{}</p>\n", html);
}

}  // namespace

Interval interval_of(const std::vector<double>& numbers) {
  Interval interval{INFINITY, -INFINITY};
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    interval.low = std::min(interval.low, number);
    interval.high = std::max(interval.high, number);
  }
  if (interval.low > interval.high) return {};
  if (interval.low == interval.high) return {interval.low - 0.5, interval.high + 0.5};
  return interval;
}

Markup diagram_markup(const Diagram& diagram) {
  const Scale scale{diagram};
  Markup svg = axes_of(diagram, scale);
  svg += bars_of(diagram, scale);
  svg += lines_of(diagram, scale);
  return markup(
      "<article><div class=\"title\"><h3>{}</h3></div>\n<svg class=\"diagram\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "role=\"img\" aria-label=\"{}\">\n{}</svg>\n{}</article>\n",
      diagram.title, kWidth, kHeight, diagram.title, svg, legend_of(diagram));
}

Markup diagrams_markup(const std::vector<Diagram>& diagrams) {
  Markup html;
  for (const Diagram& one : diagrams) html += diagram_markup(one);
  return html.text.empty() ? html : markup("<div class=\"diagrams\">\n{}</div>\n", html);
}

}  // namespace mirrortrain::report
