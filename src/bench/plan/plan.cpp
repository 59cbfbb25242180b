#include "bench/plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "base/error.h"
#include "bench/plan/loopback.h"
#include "bench/plan/shared_memory_network.h"
#include "bench/plan/step_meter.h"
#include "train/session/run_strategy.h"

namespace mirrortrain::plan {
namespace {

/// The slowdown of work with more threads than cores.
double slowdown(int threads, int cores) { return cores == 0 ? 1 : std::max(1.0, static_cast<double>(threads) / cores); }

/// Those that take part in an exchange.
Ranks ranks_of(const Layout& layout, Along along) {
  const Topology& topology = layout.topology;
  if (along == Along::kWorkers) return {layout.workers()};
  const Carrier carrier = layout.choice.operation == CrossDeviceOps::kNccl ? Carrier::kNccl : Carrier::kGloo;
  // The memories of a row are on as many workers, or all on one.
  const int row = topology.memories_of_replica();
  if (along == Along::kModel) return {row, 1, carrier};
  const int per_worker = std::max(1, static_cast<int>(topology.domains().size()) / row);
  return {topology.memories_of_parts() / per_worker, per_worker, carrier};
}

/// The time that gathering gradients adds to a step measured with two workers: adding the other workers' terms, `bytes`
/// from each, by all lanes.
double gathered_terms_seconds(const Layout& layout, double bytes, double add_seconds) {
  if (layout.choice.body != ReductionChoice::Body::kGathered) return 0;
  return (layout.workers() - 2) * bytes * add_seconds / layout.lanes();
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

/// How a network that is not given is measured, and what the choice of the operation depends on.
void set_network(Plan& plan, const PlanOptions& options, const StrategyOptions& strategy, const Hardware& hardware) {
  plan.network_measured = !options.network;
  if (plan.network_measured && plan.overlaps) {
    throw UsageError(
        "--network: the replicas are on GPUs, whose network cannot be measured here; give its latency and "
        "bandwidth, such as --network 5us,100Gbit/s");
  }
  // The choice of a run of several processes on this machine.
  const bool may_share = strategy.communication.implementation == Transport::kAuto;
  const std::optional<Network> shared = plan.network_measured && may_share ? measure_shared_memory() : std::nullopt;
  plan.shares_memory = shared.has_value();
  plan.assumptions.network = options.network ? *options.network : shared ? *shared : measure_loopback();
  plan.assumptions.add_seconds = measure_add_seconds();
  if (plan.network_measured) plan.assumptions.shared_cores = static_cast<int>(hardware.machine.cores.size());
}

/// "--mesh 4x2"
std::string option_text(const Mesh& mesh) { return fmt::format("--mesh {}x{}", mesh.data, mesh.model); }

/// How many workers have a mesh's places, of which each has one for each of its devices. Throws UsageError if they do
/// not divide them.
int workers_of(const Mesh& mesh, const StrategyOptions& strategy, std::int64_t batch, const Machine& machine) {
  StrategyOptions alone = strategy;
  alone.mesh.reset();
  const int devices = static_cast<int>(make_topology(alone, batch, machine).lanes.size());
  if (mesh.places() % devices != 0) {
    throw UsageError(
        fmt::format("{}: a worker's {} devices do not divide the {} places; list one device in strategy.devices, or "
                    "give other meshes",
                    option_text(mesh), devices, mesh.places()));
  }
  const int workers = mesh.places() / devices;
  constexpr auto kMost = static_cast<int>(StagedReduction::kMaxRanks);
  if (workers <= kMost) return workers;
  throw UsageError(fmt::format("{}: expected at most {} workers, found {}", option_text(mesh), kMost, workers));
}

std::string worker_text(const Layout& layout) {
  std::vector<std::string> devices;
  for (const LanePlace& lane : layout.topology.lanes) devices.push_back(lane.device.text());
  const bool has_places = layout.topology.mesh.model > 1;
  const int count = has_places ? layout.topology.mesh.places() / layout.workers() : layout.replicas_each();
  return fmt::format(
      "{} {}{} on {}{}", count, has_places ? "place" : "replica", count == 1 ? "" : "s", fmt::join(devices, ", "),
      layout.topology.on_gpus() ? ""
                                : fmt::format(", {} thread{}", layout.threads(), layout.threads() == 1 ? "" : "s"));
}

}  // namespace

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

PlannedRun predict(const Layout& layout, const WorkerStep& measured, const Assumptions& assumptions) {
  const int workers = layout.workers();
  PlannedRun run;
  run.workers = workers;
  run.replicas = layout.topology.mesh.data;
  run.model = layout.topology.mesh.model;
  run.global_batch = layout.global_batch;
  for (const std::int64_t rows : layout.rows) run.rows += rows;
  const int places = layout.topology.mesh.places();
  for (int worker = 0; worker < workers; ++worker) {
    // Larger parts come first, so a worker has no examples if its first replica has none.
    const RowRange first = rows_of_place(run.global_batch, worker * places / workers, layout.topology.mesh);
    if (first.count == 0) ++run.idle_workers;
  }
  run.memory = measured.memory;
  StepSchedule schedule;
  schedule.compute = measured.seconds * slowdown(workers * layout.threads(), assumptions.shared_cores);
  schedule.overlaps = layout.topology.on_gpus();
  if (workers > 1) {
    const double shared = slowdown(workers, assumptions.shared_cores);
    double largest = 0;
    for (const Exchange& bucket : measured.buckets) {
      const double adding = gathered_terms_seconds(layout, bucket.bytes, assumptions.add_seconds);
      schedule.buckets.push_back(
          shared * bucket.per_step *
          (exchange_seconds(bucket, ranks_of(layout, bucket.along), assumptions.network, assumptions.add_seconds) +
           adding));
      if (layout.choice.body == ReductionChoice::Body::kGathered) largest = std::max(largest, bucket.bytes);
      run.communication += schedule.buckets.back();
    }
    for (const Exchange& other : measured.others) {
      schedule.others +=
          shared * other.per_step *
          exchange_seconds(other, ranks_of(layout, other.along), assumptions.network, assumptions.add_seconds);
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
  const StrategyOptions strategy = workers_in_sync(checked);
  const data::Feeder examples = read_examples(checked);
  StepMeter meter(checked, strategy, examples, hardware, options.seconds);
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
  set_network(plan, options, strategy, hardware);
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

Plan make_mesh_plan(const CheckedConfiguration& whole, const std::vector<MeshToPlan>& meshes,
                    const PlanOptions& options, const Hardware& hardware) {
  require_plannable(whole);
  StrategyOptions strategy = workers_in_sync(whole);
  strategy.replicas.reset();
  const std::int64_t batch = whole.values().data.global_batch_size;
  const data::Feeder examples = read_examples(whole);
  std::deque<StepMeter> meters;
  std::vector<Layout> layouts;
  for (const auto& [mesh, checked] : meshes) {
    const int workers = workers_of(mesh, strategy, batch, hardware.machine);
    strategy.mesh = MeshOptions{std::int64_t{mesh.data}, std::int64_t{mesh.model}};
    StepMeter& meter = meters.emplace_back(*checked, strategy, examples, hardware, options.seconds);
    try {
      layouts.push_back(meter.layout(workers, batch));
    } catch (const WrongMesh& error) {
      throw UsageError(fmt::format("{}: {}", option_text(mesh), error.reason()));
    }
  }
  Plan plan;
  const Layout& first = layouts.front();
  plan.of_meshes = true;
  plan.overlaps = first.topology.on_gpus();
  set_network(plan, options, strategy, hardware);
  plan.gradient_bytes = gradient_bytes_of(*meshes.front().checked, first.topology);
  plan.note = first.choice.note;
  if (first.choice.operation) plan.operation = config::name_of(*first.choice.operation);
  plan.worker = worker_text(first);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const WorkerStep& step = meters[i].step(layouts[i], side_by_side(layouts[i], plan.assumptions.shared_cores));
    plan.runs.push_back(predict(layouts[i], step, plan.assumptions));
    plan.buckets = std::max(plan.buckets, step.buckets.size());
  }
  plan.one = plan.runs.front();
  return plan;
}

}  // namespace mirrortrain::plan
