#include "train/inference/class_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace mirrortrain {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string why_not_counted(const OutputMeaning& meaning) {
  const std::int64_t classes = meaning.number_of_classes();
  if (classes <= ClassReport::kMostCounted) return "";
  return fmt::format("there are {} classes, more than {}", classes, ClassReport::kMostCounted);
}

ClassReport::ClassReport(const OutputMeaning& meaning)
    : meaning_(meaning),
      classes_(meaning.number_of_classes()),
      counts_(static_cast<std::size_t>(classes_ * classes_)),
      bins_(kBins) {}

void ClassReport::add(std::int64_t label, std::span<const float> prediction) {
  if (label == meaning_.ignored_label) return;
  if (label < 0 || label >= classes_) throw Error(fmt::format("label {} is none of the {} classes", label, classes_));
  const std::int64_t predicted = meaning_.class_of(prediction);
  ++counts_[static_cast<std::size_t>(label * classes_ + predicted)];

  const double largest = meaning_.probability_of_class(prediction);
  if (std::isnan(largest)) return;  // no bin of [0, 1] contains it
  const double place = std::clamp(largest, 0.0, 1.0) * static_cast<double>(kBins);
  // A bin includes its upper end: 1 belongs to the last one.
  Bin& bin = bins_[static_cast<std::size_t>(std::max(std::ceil(place) - 1, 0.0))];
  ++bin.examples;
  bin.right += predicted == label ? 1 : 0;
  bin.probabilities += largest;
  if (classes_ == 2) thresholds_.add(label == 1, static_cast<double>(meaning_.class_probabilities(prediction)[1]));
}

/// In parts, as there are as many numbers as pairs of classes. A double represents every count exactly.
void ClassReport::add_up(const Workers& workers) {
  constexpr std::size_t kTogether = std::size_t{1} << 16;
  for (std::size_t first = 0; first < counts_.size(); first += kTogether) {
    const auto part = std::span(counts_).subspan(first, std::min(kTogether, counts_.size() - first));
    const std::vector<double> sums = workers.sum(std::vector<double>(part.begin(), part.end()));
    std::ranges::transform(sums, part.begin(), [](double sum) { return static_cast<std::int64_t>(sum); });
  }
  for (Bin& bin : bins_) {
    const double own[] = {static_cast<double>(bin.examples), static_cast<double>(bin.right), bin.probabilities};
    const std::vector<double> sums = workers.sum(own);
    bin = {static_cast<std::int64_t>(sums[0]), static_cast<std::int64_t>(sums[1]), sums[2]};
  }
  if (classes_ == 2) thresholds_.add_up(workers);
}

std::int64_t ClassReport::count(std::int64_t label, std::int64_t predicted) const {
  return counts_[static_cast<std::size_t>(label * classes_ + predicted)];
}

std::int64_t ClassReport::labels_of(std::int64_t label) const {
  std::int64_t sum = 0;
  for (std::int64_t predicted = 0; predicted < classes_; ++predicted) sum += count(label, predicted);
  return sum;
}

std::int64_t ClassReport::predictions_of(std::int64_t predicted) const {
  std::int64_t sum = 0;
  for (std::int64_t label = 0; label < classes_; ++label) sum += count(label, predicted);
  return sum;
}

double ClassReport::precision(std::int64_t of) const { return share(count(of, of), predictions_of(of)); }

double ClassReport::recall(std::int64_t of) const { return share(count(of, of), labels_of(of)); }

double ClassReport::f1(std::int64_t of) const { return share(2 * count(of, of), labels_of(of) + predictions_of(of)); }

double ClassReport::expected_calibration_error() const {
  double distances = 0;
  std::int64_t examples = 0;
  for (const Bin& bin : bins_) {
    distances += std::abs(bin.probabilities - static_cast<double>(bin.right));
    examples += bin.examples;
  }
  return examples == 0 ? 0 : distances / static_cast<double>(examples);
}

void ClassReport::add_row(std::int64_t label, nlohmann::ordered_json& matrix) const {
  using Json = nlohmann::ordered_json;
  Json row = Json::array();
  for (std::int64_t predicted = 0; predicted < classes_; ++predicted) {
    const std::int64_t number = count(label, predicted);
    if (classes_ <= kMostDenseClasses) {
      row.push_back(number);
    } else if (number > 0) {
      matrix.push_back({label, predicted, number});
    }
  }
  if (classes_ <= kMostDenseClasses) matrix.push_back(std::move(row));
}

nlohmann::ordered_json ClassReport::calibration_json() const {
  nlohmann::ordered_json bins = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < kBins; ++i) {
    const Bin& bin = bins_[i];
    if (bin.examples == 0) continue;
    const auto examples = static_cast<double>(bin.examples);
    bins.push_back({{"from", static_cast<double>(i) / kBins},
                    {"to", static_cast<double>(i + 1) / kBins},
                    {"examples", bin.examples},
                    {"confidence", bin.probabilities / examples},
                    {"accuracy", static_cast<double>(bin.right) / examples}});
  }
  return bins;
}

nlohmann::ordered_json ClassReport::to_json() const {
  using Json = nlohmann::ordered_json;
  Json classes = Json::array(), matrix = Json::array();
  for (std::int64_t of = 0; of < classes_; ++of) {
    Json one = {{"class", of}};
    if (const std::string name = meaning_.name_of(of); !name.empty()) one["name"] = name;
    one.update({{"precision", precision(of)}, {"recall", recall(of)}, {"f1", f1(of)}, {"examples", labels_of(of)}});
    classes.push_back(std::move(one));
    add_row(of, matrix);
  }
  Json json = {{"classes", std::move(classes)},
               {classes_ > kMostDenseClasses ? "confusions" : "confusion_matrix", std::move(matrix)},
               {"expected_calibration_error", expected_calibration_error()},
               {"calibration", calibration_json()}};
  if (classes_ == 2) json.update(thresholds_.to_json());
  return json;
}

}  // namespace mirrortrain
