#include "report/page/study_page.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "error_text.h"

namespace mirrortrain::report {
namespace {

StudyPage study_of(std::vector<std::optional<double>> values) {
  StudyPage study;
  study.name = "net: study";
  study.metric = "validation loss";
  study.axes = {{"rate", true, 1e-4, 1, {}}, {"kind", false, 0, 1, {"<adam>", "sgd"}}};
  for (const auto& value : values) {
    StudyPage::Trial& trial = study.trials.emplace_back();
    trial.number = static_cast<int>(study.trials.size());
    trial.status = value ? "done" : "failed";
    trial.value = value;
    trial.at = {0.01, trial.number % 2 == 1 ? std::optional(1.0) : std::nullopt};
    trial.texts = {"0.01", trial.at[1] ? "sgd" : ""};
    trial.link = "trial-000" + std::to_string(trial.number) + "/report.html";
    if (!value) trial.reason = "the loss is NaN";
  }
  return study;
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
  return count;
}

TEST_CASE("a study's page has a point and a line for each trial with a value, and a row for every one") {
  StudyPage study = study_of({0.5, std::nullopt, 0.25});
  study.best = 3;
  const std::string html = study_html(study);
  CHECK(occurrences(html, "<circle class=\"trial\"") == 1);
  CHECK(occurrences(html, "<circle class=\"chosen\"") == 1);
  CHECK(occurrences(html, "<path class=\"trial\"") == 1);
  CHECK(occurrences(html, "<path class=\"chosen\"") == 1);
  CHECK(occurrences(html, "<a href=\"trial-000") == 3);
  CHECK(contains(html, "failed: the loss is NaN"));
  // On a log scale 0.01 is in the middle between 0.0001 and 1, and sgd is at the top.
  CHECK(contains(html, "d=\"M70.0 154.0 L480.0 24.0 L890.0 284.0\""));
  CHECK(contains(html, "&lt;adam&gt;"));
  CHECK_FALSE(contains(html, "<adam>"));
}

TEST_CASE("a trial that is far worse than the others does not flatten them") {
  std::vector<std::optional<double>> values = {1e37};
  for (int i = 0; i < 11; ++i) values.emplace_back(1 + 0.1 * i);
  const std::string html = study_html(study_of(values));
  CHECK(contains(html, "cy=\"24.0\""));   // the worst one, at the edge
  CHECK(contains(html, "cy=\"284.0\""));  // the best one
  CHECK(contains(html, "trial 1: validation loss 1.0000e+37"));
  CHECK_FALSE(contains(html, ">1e+37<"));  // no end of the axis
}

TEST_CASE("a study without any value has its table alone, and one value is in the middle") {
  CHECK_FALSE(contains(study_html(study_of({std::nullopt})), "<svg"));
  CHECK(contains(study_html(study_of({0.5})), "cy=\"154.0\""));
}

}  // namespace
}  // namespace mirrortrain::report
