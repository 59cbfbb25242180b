#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/load.h"
#include "report/event.h"
#include "train/checkpoint/named_run.h"
#include "train/session/run_cluster.h"

namespace mirrortrain::cli {

/// Arguments of `eval`.
struct EvalArguments {
  std::string run_or_config;
  std::vector<std::string> overrides;
  std::vector<std::string> data;  ///< files in the place of the run's data
  std::optional<std::string> checkpoint, json;
  data::Split split = data::Split::kTest;
};

/// A split's evaluation.
struct Evaluation {
  report::EvaluationEvent event;
  nlohmann::ordered_json classes;  ///< what --json adds to it
};

/// `cluster`: null on one machine. The chief's; nullopt elsewhere. Logs what was evaluated. Throws Error and
/// UsageError.
std::optional<Evaluation> evaluation_on(const RunCluster* cluster, const EvalArguments& arguments,
                                        const CheckedConfiguration& checked, const std::optional<NamedRun>& named);

/// The event of metrics.jsonl, with the classes.
nlohmann::ordered_json json_of(const Evaluation& evaluation);
/// "test: loss 0.3211, accuracy 0.9 (500 examples)"
std::string text_of(const report::EvaluationEvent& event);

}  // namespace mirrortrain::cli
