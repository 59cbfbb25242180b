#include "report/page/study_charts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/utf8.h"
#include "report/page/sections.h"

namespace mirrortrain::report {
namespace {

constexpr double kChartWidth = 960, kChartHeight = 320, kChartLeft = 70, kChartRight = 20, kChartTop = 24,
                 kChartBottom = 36;
constexpr double kChartInnerHeight = kChartHeight - kChartTop - kChartBottom;

/// The range of values that is drawn.
struct Range {
  double low = 0, high = 1;
  /// 0 at the bottom, 1 at the top.
  double share(double value) const { return (std::clamp(value, low, high) - low) / (high - low); }
  double y(double value) const { return kChartTop + (1 - share(value)) * kChartInnerHeight; }
};

/// All values but those that are worse than the middle half by more than three times its width.
Range range_of(const StudyPage& study) {
  std::vector<double> values;
  for (const StudyPage::Trial& trial : study.trials) {
    if (trial.value) values.push_back(*trial.value);
  }
  std::ranges::sort(values);
  const double first = values[values.size() / 4], third = values[values.size() * 3 / 4], reach = 3 * (third - first);
  Range range{values.front(), values.back()};
  if (study.less_is_better) {
    range.high = std::min(range.high, third + reach);
  } else {
    range.low = std::max(range.low, first - reach);
  }
  if (range.low == range.high) range = {range.low - 0.5, range.high + 0.5};
  return range;
}

bool has_values(const StudyPage& study) {
  return std::ranges::any_of(study.trials, [](const StudyPage::Trial& trial) { return trial.value.has_value(); });
}

Markup text_at(double x, double y, std::string_view anchor, const std::string& text) {
  return markup("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, Markup{std::string(anchor)},
                text);
}

std::string number_text(double number) { return fmt::format("{:.4g}", number); }

Markup line_between(double x1, double y1, double x2, double y2) {
  return markup("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x1, y1, x2, y2);
}

Markup svg(const Markup& content, const std::string& label) {
  return markup("<svg class=\"study\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
                kChartWidth, kChartHeight, label, content);
}

Markup tooltip_of(const StudyPage& study, const StudyPage::Trial& trial) {
  std::string text = "trial " + std::to_string(trial.number) + ": " + study.metric + " " + figure_text(*trial.value);
  for (std::size_t i = 0; i < study.axes.size(); ++i) {
    if (trial.at[i]) text += "\n" + study.axes[i].name + " = " + trial.texts[i];
  }
  return markup("<title>{}</title>", text);
}

/// Where a trial crosses an axis, from 0 at the bottom to 1 at the top.
double share_of(const StudyPage::Axis& axis, double value) {
  if (!axis.choices.empty()) {
    return axis.choices.size() == 1 ? 0.5 : value / static_cast<double>(axis.choices.size() - 1);
  }
  if (axis.high == axis.low) return 0.5;
  const auto scaled = [&](double number) { return axis.is_log ? std::log(number) : number; };
  return (scaled(value) - scaled(axis.low)) / (scaled(axis.high) - scaled(axis.low));
}

std::string cut(const std::string& text) { return shortened(text, 20); }

Markup axis_of(const StudyPage::Axis& axis, double x) {
  Markup content = line_between(x, kChartTop, x, kChartTop + kChartInnerHeight);
  content += text_at(x, kChartHeight - 8, "middle", cut(axis.name));
  if (axis.choices.empty()) {
    content += text_at(x, kChartTop + kChartInnerHeight + 14, "middle", number_text(axis.low));
    content += text_at(x, kChartTop - 6, "middle", number_text(axis.high));
  }
  for (std::size_t i = 0; i < axis.choices.size(); ++i) {
    const double y = kChartTop + (1 - share_of(axis, static_cast<double>(i))) * kChartInnerHeight;
    content += text_at(x + 5, y + 4, "start", cut(axis.choices[i]));
  }
  return content;
}

}  // namespace

Markup history_chart(const StudyPage& study) {
  if (!has_values(study)) return {};
  const Range range = range_of(study);
  const double step =
      (kChartWidth - kChartLeft - kChartRight) / static_cast<double>(std::max<std::size_t>(1, study.trials.size()));
  const auto x_of = [&](std::size_t i) { return kChartLeft + (static_cast<double>(i) + 0.5) * step; };
  Markup content = line_between(kChartLeft, kChartTop, kChartLeft, kChartTop + kChartInnerHeight);
  content +=
      line_between(kChartLeft, kChartTop + kChartInnerHeight, kChartWidth - kChartRight, kChartTop + kChartInnerHeight);
  content += text_at(kChartLeft - 6, kChartTop + 8, "end", number_text(range.high));
  content += text_at(kChartLeft - 6, kChartTop + kChartInnerHeight, "end", number_text(range.low));
  content += text_at(kChartLeft, kChartHeight - 16, "middle", "trial 1");
  content += text_at(kChartWidth - kChartRight, kChartHeight - 16, "end", std::to_string(study.trials.size()));
  std::optional<double> best;
  std::string path;
  Markup points;
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    const StudyPage::Trial& trial = study.trials[i];
    if (!trial.value) continue;
    const bool is_better =
        trial.status == "done" && (!best || (study.less_is_better ? *trial.value < *best : *trial.value > *best));
    if (is_better) {
      path += best ? fmt::format(" H{:.1f} V{:.1f}", x_of(i), range.y(*trial.value))
                   : fmt::format("M{:.1f} {:.1f}", x_of(i), range.y(*trial.value));
      best = trial.value;
    }
    points += markup("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\">{}</circle>\n",
                     trial.number == study.best ? "chosen" : "trial", x_of(i), range.y(*trial.value),
                     tooltip_of(study, trial));
  }
  if (best) content += markup("<path class=\"so-far\" d=\"{} H{:.1f}\"/>\n", Markup{path}, kChartWidth - kChartRight);
  content += points;
  return svg(content, study.metric + " of each trial, and the best so far");
}

Markup parallel_coordinates(const StudyPage& study) {
  if (!has_values(study)) return {};
  const Range range = range_of(study);
  const double step = (kChartWidth - 2 * kChartLeft) / static_cast<double>(study.axes.size());
  const auto x_of = [&](std::size_t axis) { return kChartLeft + static_cast<double>(axis) * step; };
  Markup lines;
  std::vector<const StudyPage::Trial*> trials;
  for (const StudyPage::Trial& trial : study.trials) {
    if (trial.value) trials.push_back(&trial);
  }
  // The best one last, so that it is above the others.
  std::ranges::stable_sort(trials, {}, [&](const StudyPage::Trial* trial) { return trial->number == study.best; });
  for (const StudyPage::Trial* const trial : trials) {
    std::string path;
    for (std::size_t i = 0; i <= study.axes.size(); ++i) {
      const std::optional<double> share = i == study.axes.size() ? std::optional(range.share(*trial->value))
                                          : trial->at[i]         ? std::optional(share_of(study.axes[i], *trial->at[i]))
                                                                 : std::nullopt;
      if (!share) continue;
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", x_of(i),
                          kChartTop + (1 - *share) * kChartInnerHeight);
    }
    const double good = study.less_is_better ? 1 - range.share(*trial->value) : range.share(*trial->value);
    lines += markup("<path class=\"{}\" style=\"opacity:{:.2f}\" d=\"{}\">{}</path>\n",
                    trial->number == study.best ? "chosen" : "trial", 0.1 + 0.9 * good * good, Markup{path},
                    tooltip_of(study, *trial));
  }
  Markup content = lines;
  for (std::size_t i = 0; i < study.axes.size(); ++i) content += axis_of(study.axes[i], x_of(i));
  content += axis_of({study.metric, false, range.low, range.high, {}}, x_of(study.axes.size()));
  return svg(content, "parameters and " + study.metric + " of each trial");
}

}  // namespace mirrortrain::report
