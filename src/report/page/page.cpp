#include "report/page/page.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "report/page/assets.h"
#include "report/page/head.h"
#include "report/page/sections.h"

namespace mirrortrain::report {
namespace {

using Json = nlohmann::ordered_json;

Json points_json(const Curve& curve) {
  Json x = Json::array(), y = Json::array();
  for (const Curve::Point& point : curve.points()) {
    x.push_back(static_cast<std::int64_t>(point.x));
    y.push_back(point.y);
  }
  return {{"x", std::move(x)}, {"y", std::move(y)}};
}

/// Whether a curve over epochs has the same points as that over steps, as with one step event per epoch.
bool repeats_steps(const RunHistory& history, const RunCurve& of_epochs) {
  const RunCurve* const of_steps =
      of_epochs.is_of_epochs ? history.find(of_epochs.title, of_epochs.series, false) : nullptr;
  return of_steps != nullptr && of_steps->curve.points() == of_epochs.curve.points();
}

/// The data that page.js draws.
Json data_json(const std::vector<RunPage>& runs) {
  constexpr const char* kCharts[] = {"loss",    "metric", "gradient_norm", "learning_rate", "examples_per_second",
                                     "waiting", "state"};
  Json list = Json::array();
  for (const RunPage& run : runs) {
    Json curves = Json::array();
    for (const RunCurve& one : run.history.curves) {
      if (repeats_steps(run.history, one)) continue;
      Json curve = {{"chart", kCharts[static_cast<int>(one.chart)]},
                    {"title", one.title},
                    {"series", one.series},
                    {"by", one.is_of_epochs ? "epoch" : "step"}};
      curve.update(points_json(one.curve));
      curves.push_back(std::move(curve));
    }
    list.push_back({{"name", run.name}, {"epochs", points_json(run.history.epochs)}, {"curves", std::move(curves)}});
  }
  return {{"runs", std::move(list)}};
}

std::string title_of(const std::vector<RunPage>& runs) {
  std::string title;
  for (const RunPage& run : runs) title += (title.empty() ? "" : ", ") + run.name;
  return title;
}

Markup details_of(const RunPage& run) {
  Markup html = scores_section(run.history);
  html += classes_section(run);
  html += mistakes_section(run);
  html += numbers_section(run);
  html += text_section(run);
  html += callbacks_section(run.history);
  html += layers_section(run);
  html += configuration_section(run);
  return html;
}

Markup charts() {
  return {R"(<section id="curves">
<h2>Curves</h2>
<noscript><p class="note">The curves need JavaScript, which this browser does not run.</p></noscript>
<div class="tools" hidden>
<span class="choice">over <label><input type="radio" name="over" value="steps" checked> steps</label>
<label><input type="radio" name="over" value="epochs"> epochs</label></span>
<span class="hint"><span class="mouse">Drag to zoom, double-click to go back.</span> A name in a legend hides or shows its curve.</span>
</div>
<div class="charts"></div>
</section>
)"};
}

Markup body(const std::vector<RunPage>& runs, const Comparison& comparison) {
  if (runs.size() == 1) {
    Markup html = markup("<h1>{}</h1>\n", runs[0].name);
    html += notes_section(runs[0].notes);
    html += facts_section(runs[0].facts);
    html += charts();
    html += details_of(runs[0]);
    return html;
  }
  Markup html = markup("<h1>{} runs</h1>\n", runs.size());
  html += comparison_section(runs, comparison);
  html += differences_section(runs, comparison.differences);
  html += charts();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    html += markup("<details class=\"run\"><summary><span class=\"swatch\" data-run=\"{}\"></span>{}</summary>\n", i,
                   runs[i].name);
    html += notes_section(runs[i].notes);
    html += facts_section(runs[i].facts);
    html += details_of(runs[i]);
    html += {"</details>\n"};
  }
  return html;
}

/// The library includes its licence.
Markup scripts(const std::vector<RunPage>& runs) {
  Markup html = {"<script type=\"application/json\" id=\"data\">"};
  html += script_json(data_json(runs));
  html += {"</script>\n<script>\n/*\ndygraphs, which draws the curves:\n\n" + std::string(kPlotLicence) + "*/\n"};
  html += {std::string(kPlotLibrary) + "\n</script>\n<script>\n" + std::string(kPageScript) + "</script>\n"};
  return html;
}

}  // namespace

std::string html_page(const std::vector<RunPage>& runs, const Comparison& comparison) {
  Markup page = page_head(title_of(runs));
  page += {"<body>\n<main>\n"};
  page += body(runs, comparison);
  page += {"</main>\n<footer>Made by mirrortrain. Curves by dygraphs (MIT licence, in this page's source).</footer>\n"};
  page += scripts(runs);
  page += {"</body>\n</html>\n"};
  return std::move(page.text);
}

bool may_replace_by_page(const std::filesystem::path& file) {
  std::ifstream old(file);  // only inspected, not noted as an input
  if (!old) return true;
  std::string start(512, '\0');
  old.read(start.data(), static_cast<std::streamsize>(start.size()));
  return start.find(kGenerator) != std::string::npos;
}

}  // namespace mirrortrain::report
