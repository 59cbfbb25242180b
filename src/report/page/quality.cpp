// The sections on how good predictions are beside their classes: diagrams, errors of numbers, text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/page/diagram.h"
#include "report/page/sections.h"

namespace mirrortrain::report {
namespace {

Diagram calibration_diagram(const std::vector<CalibrationBin>& bins) {
  Diagram diagram{"Calibration", "probability of the predicted class", "part that is right"};
  diagram.has_diagonal = true;
  for (const CalibrationBin& bin : bins) {
    diagram.bars.push_back({bin.from, bin.to, bin.accuracy,
                            fmt::format("{} examples: mean probability {:.3f}, {:.3f} of them right",
                                        with_thousands(bin.examples), bin.confidence, bin.accuracy)});
  }
  return diagram;
}

Diagram roc_diagram(const ClassFigures& figures) {
  Diagram diagram{fmt::format("ROC curve, area {}", figure_text(figures.roc_area)), "false positive rate",
                  "true positive rate"};
  diagram.has_diagonal = true;
  Diagram::Line line{"", {{0, 0}}};
  for (const ThresholdFigures& one : figures.thresholds) line.points.emplace_back(one.false_positive_rate, one.recall);
  diagram.lines = {std::move(line)};
  return diagram;
}

Diagram precision_recall_diagram(const ClassFigures& figures) {
  Diagram diagram{fmt::format("Precision and recall, average precision {}", figure_text(figures.average_precision)),
                  "recall", "precision"};
  Diagram::Line line;
  for (const ThresholdFigures& one : figures.thresholds) line.points.emplace_back(one.recall, one.precision);
  if (!line.points.empty()) line.points.insert(line.points.begin(), {0, line.points.front().second});
  diagram.lines = {std::move(line)};
  return diagram;
}

Diagram scatter(const NumberFigures& figures) {
  std::vector<double> all;
  for (const auto& [label, prediction] : figures.sample) all.push_back(label), all.push_back(prediction);
  const Interval both = interval_of(all);
  Diagram diagram{"Predictions", "label", "prediction", both, both};
  diagram.has_diagonal = true;
  diagram.dots = figures.sample;
  return diagram;
}

Diagram residuals(const NumberFigures& figures) {
  constexpr std::size_t kBars = 30;
  std::vector<double> errors;
  for (const auto& [label, prediction] : figures.sample) errors.push_back(prediction - label);
  const Interval range = interval_of(errors);
  std::vector<std::int64_t> counts(kBars);
  for (const double error : errors) {
    if (!std::isfinite(error)) continue;
    const double place = (error - range.low) / (range.high - range.low) * static_cast<double>(kBars);
    ++counts[std::min(static_cast<std::size_t>(place), kBars - 1)];
  }
  Diagram diagram{"Residuals",
                  "prediction - label",
                  "examples",
                  range,
                  {0, static_cast<double>(std::max<std::int64_t>(*std::ranges::max_element(counts), 1))}};
  const double width = (range.high - range.low) / static_cast<double>(kBars);
  for (std::size_t i = 0; i < kBars; ++i) {
    const double from = range.low + width * static_cast<double>(i);
    diagram.bars.push_back({from, from + width, static_cast<double>(counts[i]),
                            fmt::format("{} examples from {:.4g} to {:.4g}", counts[i], from, from + width)});
  }
  return diagram;
}

Markup numbers_of_output(const NumberFigures& figures) {
  const std::string step = figures.step > 0 ? " after step " + with_thousands(figures.step) : "";
  const bool is_sample = static_cast<std::int64_t>(figures.sample.size()) < figures.count;
  Markup html = markup("<p>Of the {} data, with the weights{}: {} numbers{}.</p>\n", figures.split, step,
                       with_thousands(figures.count),
                       is_sample ? fmt::format(", of which the diagrams show {}",
                                               with_thousands(static_cast<std::int64_t>(figures.sample.size())))
                                 : "");
  Markup facts;
  for (const auto& [name, value] : {std::pair{"mean error", figures.mean_error},
                                    {"mean absolute error", figures.mean_absolute_error},
                                    {"root mean squared error", figures.root_mean_squared_error},
                                    {"R²", figures.r2}}) {
    facts += markup("<div><dt>{}</dt><dd>{}</dd></div>\n", name, figure_text(value));
  }
  html += markup("<dl class=\"facts\">\n{}</dl>\n", facts);
  html += diagrams_markup({scatter(figures), residuals(figures)});
  return section(figures.output.empty() ? "Errors" : "Errors of " + figures.output, html);
}

}  // namespace

Markup class_diagrams(const ClassFigures& figures) {
  std::vector<Diagram> diagrams;
  if (!figures.thresholds.empty()) diagrams = {roc_diagram(figures), precision_recall_diagram(figures)};
  if (!figures.calibration.empty()) diagrams.push_back(calibration_diagram(figures.calibration));
  return diagrams_markup(diagrams);
}

Markup numbers_section(const RunPage& run) {
  Markup html;
  for (const NumberFigures& figures : run.numbers) html += numbers_of_output(figures);
  return html;
}

Markup text_section(const RunPage& run) {
  Markup html;
  for (const GeneratedText& one : run.texts) {
    html += markup("<h3>{}</h3>\n<pre class=\"text\"><b>{}</b>{}</pre>\n",
                   one.temperature == 0 ? std::string("The most probable continuation")
                                        : fmt::format("Sampled at temperature {:.3g}", one.temperature),
                   one.prompt, one.text);
  }
  return html.text.empty() ? html : section("Generated text", html);
}

}  // namespace mirrortrain::report
