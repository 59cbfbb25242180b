#include "bench/plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "bench/plan/loopback.h"
#include "bench/plan/shared_memory_network.h"
#include "bench/plan/step_meter.h"

namespace mirrortrain::plan {
namespace {

/// The slowdown of work with more threads than cores.
double slowdown(int threads, int cores) { return cores == 0 ? 1 : std::max(1.0, static_cast<double>(threads) / cores); }

/// The ranks that exchange gradients.
Ranks ranks_of(const Layout& layout) {
  const int workers = layout.workers();
  const bool nccl = layout.choice.operation == CrossDeviceOps::kNccl;
  return {workers, layout.topology.ranks() / workers, nccl ? Carrier::kNccl : Carrier::kGloo};
}

/// The time that gathering gradients adds to a step measured with two workers: adding the other workers' terms, `bytes`
/// from each, by all lanes.
double gathered_terms_seconds(const Layout& layout, double bytes, double add_seconds) {
  if (layout.choice.body != ReductionChoice::Body::kGathered) return 0;
  return (layout.workers() - 2) * bytes * add_seconds / layout.lanes();
}

void require_plannable(const CheckedConfiguration& checked) {
  if (checked.values().strategy.pipeline) {
    throw UsageError(
        "strategy.pipeline: how long stages wait for each other is not predicted yet; add --set "
        "strategy.pipeline=null");
  }
  if (!checked.has_model()) throw UsageError("there is no model to plan, only state");
  const strategies::Declaration& type = checked.values().strategy.declaration();
  if (type.has_replicas_in_sync) return;
  throw UsageError(
      fmt::format("strategy.type: {} cannot be planned: steps are predicted for workers in sync; use `--set "
                  "strategy.type={}`",
                  type.name, declaration_of(kWorkersInSync).name));
}

/// The number of workers that fit side by side on the cores of a shared machine.
int side_by_side(const Layout& layout, int cores) { return std::clamp(cores / layout.threads(), 1, layout.workers()); }

/// Throws UsageError, before anything is measured, if the places of the file's mesh cannot be dealt to some of the
/// numbers of workers.
void require_mesh_of(const std::vector<int>& workers, const std::function<Layout(int workers)>& layout_of) {
  std::vector<int> possible;
  std::string wrong;
  for (const int count : workers) {
    try {
      layout_of(count);
      possible.push_back(count);
    } catch (const WrongMesh& error) {
      wrong = fmt::format("--workers {}: {}", count, error.what());
    }
  }
  if (wrong.empty()) return;
  throw UsageError(fmt::format("{}; {}, or add --set strategy.mesh.data=auto, with which replicas follow the workers",
                               wrong,
                               possible.empty() ? std::string("give other --workers")
                                                : fmt::format("plan for --workers {}", fmt::join(possible, ","))));
}

std::string worker_text(const Layout& layout) {
  std::vector<std::string> devices;
  for (const LanePlace& lane : layout.topology.lanes) devices.push_back(lane.device.text());
  return fmt::format(
      "{} replica{} on {}{}", layout.replicas_each(), layout.replicas_each() == 1 ? "" : "s", fmt::join(devices, ", "),
      layout.topology.on_gpus() ? ""
                                : fmt::format(", {} thread{}", layout.threads(), layout.threads() == 1 ? "" : "s"));
}

}  // namespace

PlannedRun predict(const Layout& layout, const WorkerStep& measured, const Assumptions& assumptions) {
  const int workers = layout.workers();
  PlannedRun run;
  run.workers = workers;
  run.replicas = layout.topology.mesh.data;
  run.global_batch = layout.global_batch;
  for (const std::int64_t rows : layout.rows) run.rows += rows;
  for (int worker = 0; worker < workers; ++worker) {
    // Larger parts come first, so a worker has no examples if its first replica has none.
    const RowRange first = rows_of_replica(run.global_batch, worker * layout.replicas_each(), run.replicas);
    if (first.count == 0) ++run.idle_workers;
  }
  run.memory = measured.memory;
  StepSchedule schedule;
  schedule.compute = measured.seconds * slowdown(workers * layout.threads(), assumptions.shared_cores);
  schedule.overlaps = layout.topology.on_gpus();
  if (workers > 1) {
    const double shared = slowdown(workers, assumptions.shared_cores);
    const Ranks ranks = ranks_of(layout), hosts{workers};
    double largest = 0;
    for (const Exchange& bucket : measured.buckets) {
      const double adding = gathered_terms_seconds(layout, bucket.bytes, assumptions.add_seconds);
      schedule.buckets.push_back(
          shared * bucket.per_step *
          (exchange_seconds(bucket, ranks, assumptions.network, assumptions.add_seconds) + adding));
      if (layout.choice.body == ReductionChoice::Body::kGathered) largest = std::max(largest, bucket.bytes);
      run.communication += schedule.buckets.back();
    }
    for (const Exchange& other : measured.others) {
      schedule.others +=
          shared * other.per_step * exchange_seconds(other, hosts, assumptions.network, assumptions.add_seconds);
    }
    run.communication += schedule.others;
    run.memory += static_cast<std::uint64_t>(largest) * static_cast<std::uint64_t>(workers);
  }
  run.compute = schedule.compute;
  run.step = schedule.step_seconds();
  return run;
}

std::optional<int> recommended_workers(const Plan& plan) {
  std::optional<int> most;
  for (const PlannedRun& run : plan.runs) {
    if (run.efficiency(plan.one) < kWorthwhileEfficiency) break;
    if (run.workers > 1) most = run.workers;
  }
  return most;
}

Plan make_plan(const CheckedConfiguration& checked, const PlanOptions& options, const Hardware& hardware) {
  require_plannable(checked);
  const std::int64_t batch = checked.values().data.global_batch_size;
  StepMeter meter(checked, hardware, options.seconds);
  const auto layout_of = [&](int workers) {
    try {
      return meter.layout(workers, options.scales_batch ? batch * workers : batch);
    } catch (const WrongMesh&) {
      throw;
    } catch (const Error& error) {
      throw UsageError(fmt::format("{} worker{}: {}", workers, workers == 1 ? "" : "s", error.what()));
    }
  };
  require_mesh_of(options.workers, layout_of);
  const Layout largest = layout_of(options.workers.back());
  Plan plan;
  plan.overlaps = largest.topology.on_gpus();
  plan.network_measured = !options.network;
  if (plan.network_measured && plan.overlaps) {
    throw UsageError(
        "--network: the replicas are on GPUs, whose network cannot be measured here; give its latency and "
        "bandwidth, such as --network 5us,100Gbit/s");
  }
  // The choice of a run of several processes on this machine.
  const bool may_share = checked.values().strategy.communication.implementation == Transport::kAuto;
  const std::optional<Network> shared = plan.network_measured && may_share ? measure_shared_memory() : std::nullopt;
  plan.shares_memory = shared.has_value();
  plan.assumptions.network = options.network ? *options.network : shared ? *shared : measure_loopback();
  plan.assumptions.add_seconds = measure_add_seconds();
  if (plan.network_measured) plan.assumptions.shared_cores = static_cast<int>(hardware.machine.cores.size());
  plan.gradient_bytes = gradient_bytes_of(checked, largest.topology);
  plan.note = largest.choice.note;
  if (largest.choice.operation) plan.operation = config::name_of(*largest.choice.operation);
  plan.worker = worker_text(largest);

  const Layout alone = layout_of(1);
  plan.one = predict(alone, meter.step(alone), plan.assumptions);
  for (const int workers : options.workers) {
    const Layout layout = layout_of(workers);
    const WorkerStep& step = meter.step(layout, side_by_side(layout, plan.assumptions.shared_cores));
    plan.runs.push_back(predict(layout, step, plan.assumptions));
    plan.buckets = step.buckets.size();
  }
  return plan;
}

}  // namespace mirrortrain::plan
