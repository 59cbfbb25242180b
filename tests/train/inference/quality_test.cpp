// The figures behind a page's diagrams.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "error_text.h"
#include "train/inference/class_report.h"
#include "train/inference/number_report.h"
#include "train/inference/threshold_counts.h"

namespace mirrortrain {
namespace {

TEST_CASE("areas below the curves of two classes are those of their definitions") {
  ThresholdCounts counts;
  const std::vector<std::pair<int, double>> examples = {{0, 0.125}, {0, 0.375}, {1, 0.3125}, {1, 0.75}, {0, 0.75},
                                                        {1, 1.0},   {1, 0.5},   {0, 0.0},    {1, NAN}};
  for (const auto& [label, probability] : examples) counts.add(label == 1, probability);
  // The part of all pairs of a positive and a negative example in which the positive one has the higher probability.
  double pairs = 0, right = 0;
  for (const auto& [a, of_positive] : examples) {
    for (const auto& [b, of_negative] : examples) {
      if (a != 1 || b != 0 || std::isnan(of_positive)) continue;
      ++pairs;
      right += of_positive > of_negative ? 1 : of_positive == of_negative ? 0.5 : 0;
    }
  }
  const auto json = counts.to_json();
  CHECK(json["roc_auc"].get<double>() == doctest::Approx(right / pairs));
  // Recall grows by a quarter at 1, 3/4, 1/2 and 5/16, where precision is 1, 2/3, 3/4 and 4/6.
  CHECK(json["average_precision"].get<double>() == doctest::Approx((1 + 2.0 / 3 + 0.75 + 4.0 / 6) / 4));
  const auto& thresholds = json["thresholds"];
  REQUIRE(thresholds.size() == 7);
  CHECK(thresholds[1]["threshold"] == 0.75);
  CHECK(thresholds[1]["recall"] == 0.5);
  CHECK(thresholds[1]["false_positive_rate"] == 0.25);
  CHECK(thresholds[6]["recall"] == 1);
  CHECK(thresholds[6]["false_positive_rate"] == 1);
}

TEST_CASE("examples of one class alone have no curves") {
  ThresholdCounts counts;
  CHECK(counts.to_json().empty());
  counts.add(true, 0.5);
  CHECK(counts.to_json().empty());
  counts.add(false, 0.5);
  CHECK(counts.to_json()["roc_auc"] == 0.5);
}

TEST_CASE("a report of two classes has calibration and curves, of more classes calibration alone") {
  OutputMeaning meaning{OutputMeaning::Kind::kYesOrNo, false, Shape{1}, {}};
  ClassReport report(meaning);
  for (const auto& [label, probability] : {std::pair{1, 0.9f}, {0, 0.1f}, {0, 0.95f}, {1, 0.92f}})
    report.add(label, std::vector<float>{probability});
  const auto json = report.to_json();
  double examples = 0, distances = 0;
  for (const auto& bin : json["calibration"]) {
    const double size = bin["examples"];
    examples += size;
    distances += size * std::abs(bin["confidence"].get<double>() - bin["accuracy"].get<double>());
    CHECK(bin["confidence"].get<double>() <= bin["to"].get<double>() + 1e-6);
    CHECK(bin["confidence"].get<double>() >= bin["from"].get<double>() - 1e-6);
  }
  CHECK(examples == 4);
  CHECK(distances / 4 == doctest::Approx(json["expected_calibration_error"].get<double>()));
  CHECK(json["roc_auc"] == 0.5);  // 0.95 is above both positive ones, 0.1 below
  OutputMeaning three{OutputMeaning::Kind::kClasses, false, Shape{3}, {}};
  ClassReport of_three(three);
  of_three.add(2, std::vector<float>{0.1f, 0.2f, 0.7f});
  CHECK_FALSE(of_three.to_json().contains("roc_auc"));
  CHECK(of_three.to_json()["calibration"].size() == 1);
}

TEST_CASE("errors of numbers, also of labels far from 0, and a sample of bounded size") {
  NumberReport report;
  CHECK(report.figures().count == 0);
  for (int i = 0; i < 4; ++i) {
    report.add(std::vector<double>{1e6 + i}, std::vector<float>{static_cast<float>(1e6 + i + (i % 2 == 0 ? 1 : -0.5))});
  }
  report.add(std::vector<double>{NAN}, std::vector<float>{1});
  const report::NumberFigures figures = report.figures();
  CHECK(figures.count == 4);
  CHECK(figures.mean_error == doctest::Approx(0.25));
  CHECK(figures.mean_absolute_error == doctest::Approx(0.75));
  CHECK(figures.root_mean_squared_error == doctest::Approx(std::sqrt(2.5 / 4)));
  CHECK(figures.r2 == doctest::Approx(1 - 2.5 / 5));
  CHECK(figures.sample.size() == 4);
  CHECK(contains(error_text([&] { report.add(std::vector<double>{1, 2}, std::vector<float>{1}); }), "2 labels"));

  NumberReport many;
  for (int i = 0; i < 5000; ++i) many.add(std::vector<double>{static_cast<double>(i)}, std::vector<float>{0});
  const auto sample = many.figures().sample;
  CHECK(sample.size() <= NumberReport::kMostShown);
  CHECK(sample.size() > NumberReport::kMostShown / 2);
  for (std::size_t i = 0; i < sample.size(); ++i) CHECK(sample[i].first == 8.0 * static_cast<double>(i));
  NumberReport equal;
  equal.add(std::vector<double>{3, 3}, std::vector<float>{3, 2});
  CHECK(std::isnan(equal.figures().r2));
}

}  // namespace
}  // namespace mirrortrain
