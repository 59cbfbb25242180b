#include "train/inference/evaluated_classes.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "train/checkpoint/weights.h"
#include "train/inference/class_report.h"
#include "train/inference/predict.h"

namespace mirrortrain {
namespace {

/// The examples that a worker predicts, such that each has the same position in a replica's rows as on one machine.
data::Dataset part_of_worker(const data::Dataset& dataset, const Cluster& cluster) {
  const std::int64_t blocks = data::batches_of(dataset.rows(), kPredictedRows);
  const auto first_of = [&](std::int64_t worker) {
    return std::min(blocks * worker / cluster.workers * kPredictedRows, dataset.rows());
  };
  return dataset.view(first_of(cluster.worker), first_of(cluster.worker + 1) - first_of(cluster.worker));
}

}  // namespace

nlohmann::ordered_json evaluated_classes(const CheckedConfiguration& checked, const Run& run, data::Split split) {
  const std::vector<OutputMeaning> meanings = output_meanings(checked, &run.adapted);
  std::map<std::size_t, ClassReport> reports;
  for (std::size_t i = 0; i < meanings.size(); ++i) {
    if (!meanings[i].tells_classes()) continue;
    if (const std::string why = why_not_counted(meanings[i]); !why.empty()) {
      spdlog::info("the figures of each class{} are left out: {}", checked.of_output(i), why);
    } else {
      reports.emplace(i, ClassReport(meanings[i]));
    }
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (reports.empty()) return json;
  if (run.strategy->topology().replica_spans_workers()) {
    spdlog::info(
        "the figures of each class are left out: the layers are divided among workers, of which each would need all");
    return json;
  }
  const data::Dataset part = part_of_worker(run.split(split)->dataset(), run.strategy->topology().cluster);
  const StoredTensors weights = copy_weights(*run.strategy);
  if (part.rows() > 0) {
    predict_labelled(
        checked, meanings, part, run.adapted,
        [&](Strategy& strategy) { load_weights(weights, "the weights", strategy); },
        [&](std::size_t output, std::int64_t, std::int64_t label, std::span<const float> prediction) {
          if (const auto found = reports.find(output); found != reports.end()) found->second.add(label, prediction);
        });
  }
  for (auto& [number, report] : reports) {
    report.add_up(run.strategy->workers());
    if (meanings[number].name.empty()) return report.to_json();
    json["outputs"][meanings[number].name] = report.to_json();
  }
  return json;
}

}  // namespace mirrortrain
