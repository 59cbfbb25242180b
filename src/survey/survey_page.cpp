#include <algorithm>
#include <string>

#include "report/page/assets.h"
#include "report/page/head.h"
#include "report/page/markup.h"
#include "survey/data_survey.h"

namespace mirrortrain::survey {
namespace {

using report::Markup;
using report::markup;

constexpr std::size_t kMostShownNumbers = 500;

constexpr std::string_view kStyle = R"(
.bar { background: var(--series-0); height: .8em; display: inline-block; vertical-align: middle; }
.sheet { display: flex; flex-wrap: wrap; gap: 12px; }
.sheet figure { margin: 0; text-align: center; }
.sheet img { width: 96px; image-rendering: pixelated; border: 1px solid var(--line); }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; font-family: system-ui, sans-serif; }
table { border-collapse: collapse; margin: .6em 0; }
td, th { padding: .15em .8em .15em 0; text-align: right; border-bottom: 1px solid var(--line); }
td:first-child, th:first-child { text-align: left; }
)";

Markup numbers_table(const std::vector<SurveyedNumber>& numbers) {
  Markup table{"<table><tr><th></th><th>mean</th><th>standard deviation</th><th>least</th><th>largest</th></tr>\n"};
  for (std::size_t i = 0; i < std::min(numbers.size(), kMostShownNumbers); ++i) {
    const auto& [name, moments] = numbers[i];
    table +=
        markup("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", name, number_text(moments.mean()),
               number_text(moments.deviation()), number_text(moments.least()), number_text(moments.largest()));
  }
  table += {"</table>\n"};
  if (numbers.size() > kMostShownNumbers) table += markup("<p>and {} more</p>\n", numbers.size() - kMostShownNumbers);
  return table;
}

Markup classes_table(const SurveyedOutput& output) {
  std::int64_t most = 1;
  for (const auto& [name, count] : output.classes) most = std::max(most, count);
  Markup table{"<table><tr><th>class</th><th>examples</th><th></th></tr>\n"};
  for (const auto& [name, count] : output.classes) {
    table += markup(
        "<tr><td>{}</td><td>{}</td><td style=\"text-align: left\"><span class=\"bar\" style=\"width: "
        "{:.1f}em\"></span></td></tr>\n",
        name, count, 20.0 * static_cast<double>(count) / static_cast<double>(most));
  }
  return table += {"</table>\n"};
}

Markup split_section(const SurveyedSplit& split) {
  Markup section = markup("<section><h2>{}</h2>\n<p>{} examples", split.name, split.examples);
  if (split.left_out > 0) section += markup(", {} left out", split.left_out);
  section += {"</p>\n"};
  for (const SurveyedInput& input : split.inputs) {
    section += markup("<h3>features {}</h3>\n<p>{} {}, {}</p>\n", input.name, input.dtype, input.shape, input.origin);
    section += numbers_table(input.numbers);
  }
  for (const SurveyedOutput& output : split.outputs) {
    section += markup("<h3>labels {}</h3>\n<p>{} {}, {} missing</p>\n", output.name, output.dtype, output.shape,
                      output.missing);
    section += output.classes.empty() ? numbers_table(output.numbers) : classes_table(output);
  }
  if (!split.missing_cells.empty()) {
    section += {"<h3>missing cells</h3>\n<table>\n"};
    for (const auto& [column, count] : split.missing_cells) {
      section += markup("<tr><td>{}</td><td>{}</td></tr>\n", column, count);
    }
    section += {"</table>\n"};
  }
  section += markup("<p>{} examples have the features of an earlier one.</p>\n", split.duplicates.count);
  for (const std::string& remark : split.remarks) section += markup("<p>{}</p>\n", remark);
  return section += {"</section>\n"};
}

}  // namespace

std::string survey_page(const DataSurvey& survey) {
  const std::string title = "Data of " + survey.configuration;
  Markup page = report::page_head(title);
  page += markup("<body>\n<style>{}</style>\n<h1>{}</h1>\n", Markup{std::string(kStyle)}, title);
  if (!survey.pictures.empty()) {
    page += {"<section><h2>first pictures</h2><div class=\"sheet\">\n"};
    for (const SurveyedPicture& picture : survey.pictures) {
      page += markup("<figure><img alt=\"{}\" src=\"{}\"><figcaption>{}</figcaption></figure>\n", picture.label,
                     report::png_address(picture.png), picture.label);
    }
    page += {"</div></section>\n"};
  }
  for (const SurveyedSplit& split : survey.splits) page += split_section(split);
  if (!survey.shared.empty()) page += {"<section><h2>examples in two splits</h2>\n"};
  for (const SharedExamples& one : survey.shared) {
    page +=
        markup("<p>{} examples of {} have the features of one of {}.</p>\n", one.found.count, one.second, one.first);
  }
  if (!survey.shared.empty()) page += {"</section>\n"};
  return page.text + "</body></html>\n";
}

}  // namespace mirrortrain::survey
