#include "report/page/page.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/files.h"
#include "base/json.h"
#include "error_text.h"
#include "report/page/markup.h"
#include "report/page/sections.h"
#include "temporary_folder.h"

namespace mirrortrain::report {
namespace {

using nlohmann::json;

/// What page.js reads.
json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t first = page.find(begin) + begin.size();
  return parse_json<json>(page.substr(first, page.find("</script>", first) - first));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

RunPage page_named(const std::string& name) {
  RunPage run;
  run.name = name;
  RunCurve curve{RunCurve::Chart::kLoss, "loss", "training", false, {}};
  curve.curve.add(1, 0.1 + 0.2);
  curve.curve.add(2, std::numeric_limits<double>::quiet_NaN());
  curve.curve.add(3, 1e-300);
  run.history.curves.push_back(std::move(curve));
  run.history.epochs.add(3, 1);
  return run;
}

TEST_CASE("HTML has no text's own tags, and nothing that it cannot hold") {
  CHECK(escaped("a<b>&\"c'") == "a&lt;b&gt;&amp;&quot;c&#39;");
  CHECK(escaped("é\n\t") == "é\n\t");
  CHECK(escaped(std::string("a\0b\x1b", 4)) ==
        "a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD");
  CHECK(escaped("\xff<") == "\xEF\xBF\xBD&lt;");
  CHECK(markup("<b>{}</b>{}{:.1f}", "<i>", Markup{"<u>"}, 1.25).text == "<b>&lt;i&gt;</b><u>1.2");
}

TEST_CASE("JSON in a page means the same and cannot end its script") {
  const nlohmann::ordered_json value = {{"</script><!--", "<script>&amp;"}};
  const std::string script = script_json(value).text;
  CHECK(script.find('<') == std::string::npos);
  CHECK(script.find('>') == std::string::npos);
  CHECK(parse_json<nlohmann::ordered_json>(script) == value);
}

TEST_CASE("PNG files are embedded as base64") {
  const auto address = [](std::string_view text) { return png_address(std::as_bytes(std::span(text))); };
  CHECK(address("Man") == "data:image/png;base64,TWFu");
  CHECK(address("Ma") == "data:image/png;base64,TWE=");
  CHECK(address("M") == "data:image/png;base64,TQ==");
  CHECK(address("\xff\xfe\xfd"
                "a") == "data:image/png;base64,//79YQ==");
}

TEST_CASE("a page holds every number of its curves in full precision") {
  const json data = data_of(html_page({page_named("a"), page_named("b")}));
  REQUIRE(data["runs"].size() == 2);
  const json& curve = data["runs"][0]["curves"][0];
  CHECK(curve["x"] == json({1, 2, 3}));
  CHECK(curve["y"][0] == 0.1 + 0.2);
  CHECK(curve["y"][1].is_null());
  CHECK(curve["y"][2] == 1e-300);
  CHECK(data["runs"][0]["epochs"] == json({{"x", {3}}, {"y", {1.0}}}));
  CHECK(data["runs"][1]["name"] == "b");
}

TEST_CASE("nothing that a run's files say becomes HTML") {
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' onload=alert(3) ";
  RunPage run = page_named(evil);
  run.history.curves[0].title = run.history.curves[0].series = evil;
  run.history.evaluations.push_back({evil, 1, 2, {0.5, {{evil, 0.5}}}});
  run.history.callbacks.push_back({evil, 1, 1, evil, evil, 0.5, 1, std::nullopt});
  run.facts.emplace_back(evil, evil);
  run.notes.push_back(evil);
  run.classes = {ClassFigures{evil, 1, {{evil, 1, 1, 1, 1}, {evil, 1, 1, 1, 1}}, {{1, 0}, {0, 1}}, 0.5}};
  run.mistakes.push_back({{std::byte{1}}, evil, evil, 0.5, 1});
  run.layers.push_back({evil, evil, Shape{2}, 3});
  run.configuration = evil;
  RunPage without = page_named("b");
  without.why_no_classes = without.why_no_layers = without.why_no_mistakes = evil;
  const std::string clean = html_page({page_named("a"), page_named("b")}, {.differences = {{"key", {"1", "2"}}}});
  const std::string page = html_page({run, without}, {.differences = {{evil, {evil, evil}}}});
  CHECK(count_of(page, "<script") == count_of(clean, "<script"));
  CHECK(count_of(page, "</script") == count_of(clean, "</script"));
  CHECK(count_of(page, "<img") == 1);  // the mistake's own
  CHECK(data_of(page)["runs"][0]["name"] == evil);
  CHECK(contains(html_page({run}), "<title>&lt;/script&gt;"));
}

TEST_CASE("a page loads nothing") {
  const std::string page = html_page({page_named("a")});
  CHECK(contains(page, "default-src 'none'; img-src data:;"));
  for (const char* const what : {" src=\"http", "<link", "@import", "url(", "sourceMappingURL"}) {
    CAPTURE(what);
    CHECK_FALSE(contains(page, what));
  }
  CHECK(contains(page, "Permission is hereby granted, free of charge"));  // the library's licence
  CHECK(contains(page, "Dygraph"));
  CHECK(contains(page, "prefers-color-scheme: dark"));
  CHECK(contains(page, "name=\"viewport\""));
}

TEST_CASE("figures have at least four digits") {
  CHECK(figure_text(0.5) == "0.50000");
  CHECK(figure_text(0.00012345678) == "0.00012346");
  CHECK(figure_text(1e-9) == "1.0000e-09");
  CHECK(figure_text(std::numeric_limits<double>::quiet_NaN()) == "NaN");
  CHECK(figure_text(-std::numeric_limits<double>::infinity()) == "-infinity");
}

TEST_CASE("a page shows what it has of a run, and says why of what is missing") {
  RunPage run = page_named("a");
  run.history.evaluations.push_back({"test", 87, 500, {0.59769554, {{"accuracy", 0.782}}}});
  run.facts.emplace_back("status", "done");
  run.layers.push_back({"dense", "dense", Shape{10}, 650});
  run.trainable_parameters = 640;
  run.why_no_mistakes = "the data are gone";
  run.configuration = "seed: 1\n";
  const std::string page = html_page({run});
  for (const char* const part : {"<h1>a</h1>", "0.59770", "0.78200", "<td class=\"n\">500</td>", "dense", "[10]", "650",
                                 "all, 640 of them trainable", "the data are gone", "seed: 1"}) {
    CAPTURE(part);
    CHECK(contains(page, part));
  }
  CHECK_FALSE(contains(page, "Confusion"));
  CHECK(contains(html_page({run, run}), "The runs have the same configuration."));
  CHECK(contains(html_page({run, run}, {.differences = {{"seed", {"1", "2"}}}}), "<code>seed</code>"));
  CHECK(contains(html_page({RunPage{.name = "empty"}}), "<h1>empty</h1>"));
}

RunPage trained(const std::string& name, double validation_loss, double test_accuracy) {
  RunPage run = page_named(name);
  RunCurve curve{RunCurve::Chart::kLoss, "loss", "validation", true, {}};
  curve.curve.add(3, validation_loss);
  run.history.curves.push_back(std::move(curve));
  run.history.evaluations.push_back({"test", 3, 10, {0.5, {{"accuracy", test_accuracy}}}});
  return run;
}

TEST_CASE("of several runs the best figure of each split is marked, where they differ") {
  const std::vector<RunPage> runs = {trained("a", 0.25, 0.75), trained("b", 0.5, 0.875), trained("c", NAN, 0.875)};
  const std::string page =
      html_page(runs, {.lower_is_better = [](std::string_view metric) { return metric == "loss"; }});
  const std::string mark = " best\" title=\"the best of these runs\">";
  CHECK(count_of(page, mark) == 3);
  CHECK(count_of(page, mark + "0.25000<") == 1);
  CHECK(count_of(page, mark + "0.87500<") == 2);
  CHECK(contains(page, "class=\"group\">validation</th>"));
  CHECK(count_of(html_page(runs), mark) == 0);
}

TEST_CASE("a curve of epochs that repeats the steps' points is drawn once") {
  RunPage run = page_named("a");
  RunCurve epochs{RunCurve::Chart::kLoss, "loss", "training", true, {}};
  epochs.curve.add(1, 0.1 + 0.2);
  run.history.curves = {run.history.curves[0], epochs};
  CHECK(data_of(html_page({run}))["runs"][0]["curves"].size() == 2);
  run.history.curves[0].curve = epochs.curve;
  CHECK(data_of(html_page({run}))["runs"][0]["curves"].size() == 1);
}

TEST_CASE("the style is one that browsers read") {
  const std::string page = html_page({page_named("a")});
  for (const char* const rule : {"max-width: 80rem;", "box-sizing: border-box;", "prefers-color-scheme: dark) {",
                                 ".scroll { overflow-x: auto;", "1px solid var(--line)"}) {
    CAPTURE(rule);
    CHECK(contains(page, rule));
  }
}

TEST_CASE("the figures of classes come from what eval writes, or not at all") {
  const auto evaluation = parse_json<nlohmann::ordered_json>(R"({"event": "evaluation", "split": "test", "step": 5,
    "classes": [{"class": 0, "name": "cat", "precision": 0.5, "recall": 1.0, "f1": 0.6667, "examples": 1},
                {"class": 1, "precision": 1.0, "recall": 0.5, "f1": 0.6667, "examples": 2}],
    "confusion_matrix": [[1, 0], [1, 1]], "expected_calibration_error": 0.125})");
  const auto figures = class_figures(evaluation);
  REQUIRE(figures);
  CHECK(figures->classes[0].name == "cat");
  CHECK(figures->classes[1].name == "1");
  CHECK(figures->classes[1].examples == 2);
  CHECK(figures->confusion == std::vector<std::vector<std::int64_t>>{{1, 0}, {1, 1}});
  auto sparse = evaluation;
  sparse.erase("confusion_matrix");
  sparse["confusions"] = {{0, 0, 1}, {1, 0, 1}, {1, 1, 1}};
  CHECK(class_figures(sparse)->confusion == figures->confusion);
  RunPage run = page_named("a");
  run.classes = {*figures};
  const std::string page = html_page({run});
  CHECK(contains(page, "style=\"--share:0.500\">1</td>"));
  CHECK(contains(page, "Expected calibration error: 0.12500."));

  for (const char* const broken :
       {R"({})", R"({"classes": [], "confusion_matrix": []})", R"([1])",
        R"({"classes": [{}], "confusion_matrix": [[1, 2]]})", R"({"classes": [{}], "confusion_matrix": [["x"]]})",
        R"({"classes": [{}], "confusion_matrix": [3]})", R"({"classes": [{}], "confusions": [[0, 1, 2]]})",
        R"({"classes": [{}], "confusions": [[-1, 0, 2]]})", R"({"classes": [{}], "confusions": [[0, 0]]})"}) {
    CAPTURE(broken);
    CHECK_FALSE(class_figures(parse_json<nlohmann::ordered_json>(broken)));
  }
}

TEST_CASE("diagrams of classes, numbers and text are drawn without a script") {
  const auto evaluation = parse_json<nlohmann::ordered_json>(R"({"split": "test",
    "classes": [{"name": "no"}, {"name": "yes"}], "confusion_matrix": [[1, 0], [1, 1]],
    "calibration": [{"from": 0.8, "to": 0.9, "examples": 3, "confidence": 0.85, "accuracy": 0.6}, {"from": "x"}, 3],
    "roc_auc": 0.75, "average_precision": 0.625,
    "thresholds": [{"threshold": 0.5, "recall": 0.5, "false_positive_rate": 0, "precision": 1},
                   {"threshold": 0.1, "recall": 1, "false_positive_rate": 1, "precision": 0.5}, {}]})");
  RunPage run = page_named("a");
  run.classes = {*class_figures(evaluation)};
  CHECK(run.classes[0].calibration.size() == 1);
  CHECK(run.classes[0].thresholds.size() == 2);
  run.numbers.push_back({"test", 7, "price", 2, 0.5, 1, 1.5, 0.25, {{1, 2}, {3, 3}}});
  run.texts.push_back({"To <b>", "e or not", 0});
  const std::string page = html_page({run});
  for (const char* const part :
       {"<h3>Calibration</h3>", "3 examples: mean probability 0.850, 0.600 of them right", "ROC curve, area 0.75000",
        "average precision 0.62500", "d=\"M46.0 240.0L46.0 125.0L330.0 10.0\"", "<h2>Errors of price</h2>",
        "<dt>mean error</dt><dd>0.50000</dd>", "<h3>Residuals</h3>", "<b>To &lt;b&gt;</b>e or not",
        "The most probable continuation", "@media print"}) {
    CHECK_MESSAGE(contains(page, part), part);
  }
  CHECK(count_of(page, "<circle") == 2);
  const std::string plain = html_page({page_named("a")});
  for (const char* const part : {"<svg class", "<h2>Errors", "<h2>Generated text"}) CHECK_FALSE(contains(plain, part));
}

TEST_CASE("of many classes the most frequent confusions are listed") {
  ClassFigures figures{"test", 0, {}, {}, std::nullopt};
  for (int i = 0; i < 60; ++i) {
    figures.classes.push_back({fmt::format("c{}", i), 1, 1, 1, 100});
    figures.confusion.emplace_back(60, 0);
  }
  figures.confusion[7][9] = 41;
  figures.confusion[8][3] = 42;
  RunPage run = page_named("a");
  run.classes = {figures};
  const std::string page = html_page({run});
  CHECK(contains(page, "A matrix of 60 classes is too large to read"));
  const std::size_t first = page.find("<th>c8</th><td>c3</td><td class=\"n\">42</td>");
  REQUIRE(first != std::string::npos);
  CHECK(first < page.find("<th>c7</th><td>c9</td><td class=\"n\">41</td>"));
}

}  // namespace
}  // namespace mirrortrain::report
