#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "bench/plan/plan.h"
#include "report/format.h"
#include "report/json.h"

namespace mirrortrain::plan {
namespace {

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

/// A column: its header in two lines, and its priority for omission if the table is too wide.
struct PlanColumn {
  const char *above, *head;
  int rank;
};
constexpr std::array<PlanColumn, 12> kColumns = {{{"", "mesh", 0},
                                                  {"", "workers", 0},
                                                  {"", "replicas", 5},
                                                  {"", "global batch", 4},
                                                  {"batch per", "worker", 3},
                                                  {"compute", "ms", 2},
                                                  {"communi-", "cation ms", 2},
                                                  {"step", "ms", 0},
                                                  {"", "examples/s", 0},
                                                  {"", "speedup", 0},
                                                  {"efficiency", "%", 0},
                                                  {"memory per", "worker", 1}}};

constexpr std::size_t kMesh = 0, kEfficiency = 10;

std::string mesh_text(const PlannedRun& run) { return fmt::format("{}x{}", run.replicas, run.model); }

std::vector<std::string> row_of(const PlannedRun& run, const PlannedRun& one) {
  return {mesh_text(run),
          std::to_string(run.workers),
          std::to_string(run.replicas),
          std::to_string(run.global_batch),
          std::to_string(run.rows),
          fmt::format("{:.3f}", run.compute * 1e3),
          fmt::format("{:.3f}", run.communication * 1e3),
          fmt::format("{:.3f}", run.step * 1e3),
          report::with_thousands(static_cast<std::int64_t>(run.examples_per_second())),
          fmt::format("{:.2f}", run.speedup(one)),
          fmt::format("{:.1f}", run.efficiency(one) * 100),
          report::bytes_text(run.memory)};
}

/// `width` 0: no limit.
std::string table_text(const Plan& plan, std::size_t width) {
  std::vector<std::vector<std::string>> rows(2);
  for (const PlanColumn& column : kColumns) {
    rows[0].emplace_back(column.above);
    rows[1].emplace_back(column.head);
  }
  for (const PlannedRun& run : plan.runs) rows.push_back(row_of(run, plan.one));
  std::array<std::size_t, kColumns.size()> widths{};
  std::size_t all = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (i == (plan.of_meshes ? kEfficiency : kMesh)) continue;  // that of one number of workers does not vary
    for (const auto& row : rows) widths[i] = std::max(widths[i], row[i].size() + (all > 0 ? 2 : 0));
    all += widths[i];
  }
  for (int rank = 5; width > 0 && all > width && rank > 0; --rank) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (kColumns[i].rank == rank) all -= std::exchange(widths[i], 0);
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths[i] > 0) text += fmt::format("{:>{}}", row[i], widths[i]);
    }
    text += "\n";
  }
  return text;
}

/// Replicas without examples take part in every exchange but compute nothing.
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

/// The fastest mesh, and the one whose workers take the least memory.
std::pair<const PlannedRun*, const PlannedRun*> best_meshes(const Plan& plan) {
  return {&*std::ranges::min_element(plan.runs, {}, &PlannedRun::step),
          &*std::ranges::min_element(plan.runs, {}, &PlannedRun::memory)};
}

std::string recommendation(const Plan& plan) {
  if (plan.of_meshes) {
    const auto [fastest, smallest] = best_meshes(plan);
    return fmt::format("fastest: {}; least memory for a worker: {}\n", mesh_text(*fastest), mesh_text(*smallest));
  }
  const double least = kWorthwhileEfficiency * 100;
  if (plan.runs.back().workers == 1) return "";
  const auto most = recommended_workers(plan);
  if (!most) return fmt::format("no number of workers above 1 has an efficiency of {:.0f} % here\n", least);
  return fmt::format("up to {} workers have an efficiency of at least {:.0f} %\n", *most, least);
}

using Json = nlohmann::ordered_json;

Json json_of(const PlannedRun& run, const Plan& plan) {
  Json json = {{"workers", run.workers},
               {"replicas", run.replicas},
               {"global_batch_size", run.global_batch},
               {"worker_batch_size", run.rows},
               {"idle_workers", run.idle_workers},
               {"compute_seconds", run.compute},
               {"communication_seconds", run.communication},
               {"step_seconds", run.step},
               {"examples_per_second", run.examples_per_second()},
               {"speedup", run.speedup(plan.one)},
               {"memory_bytes", run.memory}};
  if (plan.of_meshes) {
    json["mesh"] = mesh_text(run);
  } else {
    json["efficiency"] = run.efficiency(plan.one);
  }
  return json;
}

}  // namespace

std::string plan_text(const Plan& plan, std::size_t width) {
  std::string text = fmt::format("each worker: {}\nnetwork: {}\ngradients: {}\n", plan.worker, network_text(plan),
                                 gradients_text(plan));
  if (!plan.note.empty()) text += plan.note + "\n";
  text += fmt::format("compute: measured on this machine at each worker's batch, {}; {} gives speedup 1\n\n",
                      plan.network_measured ? "as many workers at once as have cores" : "one worker at a time",
                      plan.of_meshes ? mesh_text(plan.one) : "one worker");
  text += table_text(plan, width);
  const std::string below = idle_text(plan) + recommendation(plan);
  return below.empty() ? text : text + "\n" + below;
}

std::string plan_json(const Plan& plan) {
  Json runs = Json::array();
  for (const PlannedRun& run : plan.runs) runs.push_back(json_of(run, plan));
  const auto& assumed = plan.assumptions;
  Json json = {{"network",
                {{"latency_seconds", assumed.network.latency},
                 {"bytes_per_second", assumed.network.bandwidth},
                 {"measured", plan.network_measured},
                 {"shared_cores", assumed.shared_cores}}},
               {"add_seconds_per_byte", assumed.add_seconds},
               {"gradient_bytes", plan.gradient_bytes},
               {"buckets", plan.buckets},
               {"overlaps", plan.overlaps},
               {"operation", plan.operation.empty() ? Json() : Json(plan.operation)}};
  if (plan.of_meshes) {
    const auto [fastest, smallest] = best_meshes(plan);
    json["runs"] = runs;
    json["fastest"] = mesh_text(*fastest);
    json["least_memory"] = mesh_text(*smallest);
  } else {
    const auto most = recommended_workers(plan);
    json["one_worker"] = json_of(plan.one, plan);
    json["runs"] = runs;
    json["recommended_workers"] = most ? Json(*most) : Json();
  }
  return report::json_line(json);
}

}  // namespace mirrortrain::plan
