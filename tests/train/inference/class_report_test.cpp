#include "train/inference/class_report.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "error_text.h"

namespace mirrortrain {
namespace {

TEST_CASE("precision, recall and F1 of each class follow from the confusion matrix") {
  OutputMeaning meaning{OutputMeaning::Kind::kClasses, false, Shape{4}, {"a", "b", "c"}};
  ClassReport report(meaning);
  const auto add = [&](std::int64_t label, std::vector<float> output) { report.add(label, output); };
  add(0, {0.9f, 0.1f, 0, 0});
  add(0, {0.2f, 0.8f, 0, 0});
  add(1, {0.3f, 0.7f, 0, 0});
  add(2, {0, 0, 1, 0});
  add(2, {0.6f, 0, 0.4f, 0});
  add(2, {0, 0.25f, 0.75f, 0});
  CHECK(report.count(0, 1) == 1);
  CHECK(report.count(2, 0) == 1);
  const std::vector<double> precision{0.5, 0.5, 1, 0}, recall{0.5, 1, 2.0 / 3, 0}, f1{0.5, 2.0 / 3, 0.8, 0};
  for (std::int64_t of = 0; of < 4; ++of) {
    CHECK(report.precision(of) == doctest::Approx(precision[static_cast<std::size_t>(of)]));
    CHECK(report.recall(of) == doctest::Approx(recall[static_cast<std::size_t>(of)]));
    CHECK(report.f1(of) == doctest::Approx(f1[static_cast<std::size_t>(of)]));
  }
  const auto figures = report.to_json();
  CHECK(figures["confusion_matrix"][2] == nlohmann::ordered_json({1, 0, 2, 0}));
  CHECK(figures["classes"][1]["name"] == "b");
  CHECK(figures["classes"][2]["examples"] == 3);
  CHECK_FALSE(figures["classes"][3].contains("name"));
  CHECK(contains(error_text([&] { add(4, {1, 0, 0, 0}); }), "label 4 is none of the 4 classes"));
}

TEST_CASE("more than 2000 classes are not counted, of examples or of steps") {
  const auto why = [](std::int64_t classes, bool by_step) {
    return why_not_counted({OutputMeaning::Kind::kClasses, false, by_step ? Shape{3, classes} : Shape{classes}, {}});
  };
  for (const bool by_step : {false, true}) {
    CHECK(why(2000, by_step).empty());
    CHECK(why(2001, by_step) == "there are 2001 classes, more than 2000");
  }
  CHECK(why_not_counted({OutputMeaning::Kind::kYesOrNo, false, Shape{3000, 1}, {}}).empty());
}

TEST_CASE("of many classes only those confusions are written that there are") {
  OutputMeaning meaning{OutputMeaning::Kind::kClasses, false, Shape{101}, {}};
  ClassReport report(meaning);
  std::vector<float> output(101);
  output[7] = 1;
  for (const std::int64_t label : {100, 7, 100}) report.add(label, output);
  const auto figures = report.to_json();
  CHECK_FALSE(figures.contains("confusion_matrix"));
  CHECK(figures["confusions"] == nlohmann::ordered_json({{7, 7, 1}, {100, 7, 2}}));
  CHECK(figures["classes"].size() == 101);
}

TEST_CASE("the calibration error is the distance of confidence from what comes true") {
  OutputMeaning meaning{OutputMeaning::Kind::kYesOrNo, true, Shape{1}, {}};
  ClassReport report(meaning);
  const auto add = [&](std::int64_t label, float logit) { report.add(label, std::vector<float>{logit}); };
  // One bin at 0.75, three of four right; one at 1, half right.
  const float three_quarters = std::log(3.0f);
  for (const auto& [label, logit] : {std::pair{1, three_quarters},
                                     {1, three_quarters},
                                     {0, -three_quarters},
                                     {1, -three_quarters},
                                     {1, 100.0f},
                                     {1, -100.0f}}) {
    add(label, logit);
  }
  CHECK(report.classes() == 2);
  CHECK(report.count(1, 0) == 2);
  CHECK(report.expected_calibration_error() == doctest::Approx((4 * 0.0 + 2 * 0.5) / 6));
}

TEST_CASE("outputs that are NaN count for the classes, not for the calibration") {
  OutputMeaning meaning{OutputMeaning::Kind::kYesOrNo, true, Shape{1}, {}};
  ClassReport report(meaning);
  report.add(1, std::vector<float>{std::nanf("")});
  CHECK(report.count(1, 0) == 1);
  CHECK(report.expected_calibration_error() == 0);
}

}  // namespace
}  // namespace mirrortrain
