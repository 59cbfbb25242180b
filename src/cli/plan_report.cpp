#include "cli/plan_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/json.h"

namespace mirrortrain::cli {
namespace {

using plan::Plan;
using plan::PlannedRun;

std::string network_text(const Plan& plan) {
  if (!plan.network_measured)
    return fmt::format("{}, as given; each worker a machine like this one", plan.assumptions.network.text());
  const int cores = plan.assumptions.shared_cores;
  return fmt::format(
      "{}, measured over {}; all workers are processes of this machine and share its {} core{} "
      "(--network LATENCY,BANDWIDTH gives each a machine of its own)",
      plan.assumptions.network.text(), plan.shares_memory ? "shared memory" : "this machine's loopback", cores,
      cores == 1 ? "" : "s");
}

std::string gradients_text(const Plan& plan) {
  std::string text = report::bytes_text(plan.gradient_bytes);
  if (plan.buckets > 0) text += fmt::format(" in {} bucket{}", plan.buckets, plan.buckets == 1 ? "" : "s");
  return text + (plan.overlaps ? ", sent while backward continues" : "; computing waits while they are sent");
}

std::string row_text(const PlannedRun& run, const PlannedRun& one) {
  return fmt::format("{:>7}{:>10}{:>13}{:>12}{:>12.3f}{:>12.3f}{:>12.3f}{:>14}{:>9.2f}{:>12.1f}{:>12}\n", run.workers,
                     run.replicas, run.global_batch, run.rows, run.compute * 1e3, run.communication * 1e3,
                     run.step * 1e3, report::with_thousands(static_cast<std::int64_t>(run.examples_per_second())),
                     run.speedup(one), run.efficiency(one) * 100, report::bytes_text(run.memory));
}

/// Replicas without examples take part in every exchange and compute nothing.
std::string idle_text(const Plan& plan) {
  std::string text;
  for (const PlannedRun& run : plan.runs) {
    if (run.global_batch >= run.replicas) continue;
    text += fmt::format("batch {} over {} replicas: {} of them", run.global_batch, run.replicas,
                        run.replicas - run.global_batch);
    if (run.idle_workers > 0) text += fmt::format(", all those of {} workers,", run.idle_workers);
    text += " have no examples; they only take part in the exchanges\n";
  }
  return text;
}

std::string recommendation(const Plan& plan) {
  const double least = plan::kWorthwhileEfficiency * 100;
  if (plan.runs.back().workers == 1) return "";
  const auto most = plan::recommended_workers(plan);
  if (!most) return fmt::format("no number of workers above 1 has an efficiency of {:.0f} % here\n", least);
  return fmt::format("up to {} workers have an efficiency of at least {:.0f} %\n", *most, least);
}

nlohmann::ordered_json json_of(const PlannedRun& run, const PlannedRun& one) {
  return {{"workers", run.workers},
          {"replicas", run.replicas},
          {"global_batch_size", run.global_batch},
          {"worker_batch_size", run.rows},
          {"idle_workers", run.idle_workers},
          {"compute_seconds", run.compute},
          {"communication_seconds", run.communication},
          {"step_seconds", run.step},
          {"examples_per_second", run.examples_per_second()},
          {"speedup", run.speedup(one)},
          {"efficiency", run.efficiency(one)},
          {"memory_bytes", run.memory}};
}

}  // namespace

std::string plan_text(const Plan& plan) {
  std::string text = fmt::format("each worker: {}\nnetwork: {}\ngradients: {}\n", plan.worker, network_text(plan),
                                 gradients_text(plan));
  if (!plan.note.empty()) text += plan.note + "\n";
  text += fmt::format("compute: measured on this machine at each worker's batch, {}; one worker gives speedup 1\n\n",
                      plan.network_measured ? "as many workers at once as have cores" : "one worker at a time");
  text += fmt::format("{:>7}{:>10}{:>13}{:>12}{:>12}{:>12}{:>12}{:>14}{:>9}{:>12}{:>12}\n", "", "", "", "batch per",
                      "compute", "communi-", "step", "", "", "efficiency", "memory per");
  text += fmt::format("{:>7}{:>10}{:>13}{:>12}{:>12}{:>12}{:>12}{:>14}{:>9}{:>12}{:>12}\n", "workers", "replicas",
                      "global batch", "worker", "ms", "cation ms", "ms", "examples/s", "speedup", "%", "worker");
  for (const PlannedRun& run : plan.runs) text += row_text(run, plan.one);
  const std::string below = idle_text(plan) + recommendation(plan);
  return below.empty() ? text : text + "\n" + below;
}

std::string plan_json(const Plan& plan) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const PlannedRun& run : plan.runs) runs.push_back(json_of(run, plan.one));
  const auto most = plan::recommended_workers(plan);
  const auto& assumed = plan.assumptions;
  using Json = nlohmann::ordered_json;
  const Json json = {{"network",
                      {{"latency_seconds", assumed.network.latency},
                       {"bytes_per_second", assumed.network.bandwidth},
                       {"measured", plan.network_measured},
                       {"shared_cores", assumed.shared_cores}}},
                     {"add_seconds_per_byte", assumed.add_seconds},
                     {"gradient_bytes", plan.gradient_bytes},
                     {"buckets", plan.buckets},
                     {"overlaps", plan.overlaps},
                     {"operation", plan.operation.empty() ? Json() : Json(plan.operation)},
                     {"one_worker", json_of(plan.one, plan.one)},
                     {"runs", runs},
                     {"recommended_workers", most ? Json(*most) : Json()}};
  return report::json_line(json);
}

}  // namespace mirrortrain::cli
