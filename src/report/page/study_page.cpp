#include "report/page/study_page.h"

#include <algorithm>

#include "report/page/head.h"
#include "report/page/markup.h"
#include "report/page/sections.h"
#include "report/page/study_charts.h"

namespace mirrortrain::report {
namespace {

Markup trials_table(const StudyPage& study) {
  const bool has_folds =
      std::ranges::any_of(study.trials, [](const StudyPage::Trial& trial) { return trial.deviation.has_value(); });
  Markup head = markup("<th class=\"n\">trial</th><th>status</th><th class=\"n\">{}</th>{}<th class=\"n\">epoch</th>",
                       study.metric, Markup{has_folds ? "<th class=\"n\">standard deviation</th>" : ""});
  for (const StudyPage::Axis& axis : study.axes) head += markup("<th class=\"n\">{}</th>", axis.name);
  Markup body;
  for (const StudyPage::Trial& trial : study.trials) {
    const auto figure = [](const std::optional<double>& number) { return number ? figure_text(*number) : "–"; };
    const Markup deviation = has_folds ? markup("<td class=\"n\">{}</td>", figure(trial.deviation)) : Markup{};
    body += markup(
        "<tr{}><td class=\"n\"><a href=\"{}\">{}</a></td><td>{}{}</td><td class=\"n\">{}</td>{}<td "
        "class=\"n\">{}</td>",
        Markup{trial.number == study.best ? " class=\"best\"" : ""}, trial.link, trial.number, trial.status,
        trial.reason.empty() ? "" : ": " + trial.reason, figure(trial.value), deviation,
        trial.value ? trial.epoch : "–");
    for (const std::string& text : trial.texts) body += markup("<td class=\"n\">{}</td>", text.empty() ? "–" : text);
    body += {"</tr>\n"};
  }
  return table({.head = head, .body = body, .place = "scroll tall"});
}

}  // namespace

std::string study_html(const StudyPage& study) {
  Markup page = page_head(study.name);
  page += markup("<body>\n<main>\n<h1>{}</h1>\n", study.name);
  page += notes_section(study.notes);
  page += facts_section(study.facts);
  if (const Markup chart = history_chart(study); !chart.text.empty()) {
    page += section(
        "History", markup("<p>The {} of each trial, and the best so far of those that were trained to the end.</p>\n{}",
                          study.metric, chart));
  }
  if (const Markup chart = parallel_coordinates(study); !chart.text.empty()) {
    page += section("Parameters", markup("<p>A line for each trial; better trials are more opaque.</p>\n{}", chart));
  }
  page += section("Trials", trials_table(study));
  page += section("Configuration",
                  markup("<details><summary>study.yaml</summary>\n<pre>{}</pre>\n</details>\n", study.configuration));
  page += {"</main>\n<footer>Made by mirrortrain.</footer>\n</body>\n</html>\n"};
  return std::move(page.text);
}

}  // namespace mirrortrain::report
