#include "train/runs/run_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "base/usable_cores.h"
#include "cluster/address.h"
#include "device/cpu/cpu_device.h"
#include "report/format.h"

namespace mirrortrain {
namespace {

/// "global batch 256 = 2 replicas x 128", or "global batch 10 = 3 replicas with 4 + 3 + 3" if the parts differ.
std::string split_text(std::int64_t batch, int replicas) {
  if (batch % replicas == 0) {
    return fmt::format("global batch {} = {} replica{} x {}", batch, replicas, replicas == 1 ? "" : "s",
                       batch / replicas);
  }
  if (replicas > 8) {  // too many to list; larger parts come first
    const std::int64_t part = batch / replicas, larger = batch % replicas;
    return fmt::format("global batch {} = {} replicas, {} with {} and {} with {}", batch, replicas, larger, part + 1,
                       replicas - larger, part);
  }
  std::vector<std::int64_t> parts;
  for (int r = 0; r < replicas; ++r) parts.push_back(rows_of_replica(batch, r, replicas).count);
  return fmt::format("global batch {} = {} replicas with {}", batch, replicas, fmt::join(parts, " + "));
}

/// "stage 1 of 3, stage 2 of 3"; of several replicas "stage 1 of 3 (replica 0), stage 1 of 3 (replica 1)", and where
/// places divide these "stage 1 of 3 (place (0, 0))".
std::string stages_text(const std::vector<StagePlace>& stages, const Mesh& mesh) {
  std::vector<std::string> texts;
  for (const auto& [replica, stage, model] : stages) {
    const std::string whose = mesh.model > 1         ? fmt::format(" (place ({}, {}))", replica, model)
                              : mesh.replicas() == 1 ? ""
                                                     : fmt::format(" (replica {})", replica);
    texts.push_back(fmt::format("stage {} of {}{}", stage + 1, mesh.stages, whose));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string replicas_text(const Topology& topology, std::string_view between) {
  std::string text;
  for (const LanePlace& lane : topology.lanes) {
    text += fmt::format("{}{}: ", text.empty() ? "" : between, lane.device.text());
    if (!topology.on_gpus()) text += fmt::format("{} thread{}, ", lane.threads, lane.threads == 1 ? "" : "s");
    text +=
        topology.mesh.stages > 1 ? stages_text(lane.stages, topology.mesh) : place_names(lane.replicas, topology.mesh);
  }
  return text;
}

std::string shared_cores_warning(const ClusterSpec& cluster, const Topology& topology) {
  if (topology.on_gpus()) return "";
  const std::vector<Task> trainers = cluster.trainers();
  const auto host_of = [&](const Task& task) {
    const std::string& address = cluster.address(task);
    return address.empty() ? "" : Address::of(address).host;
  };
  // Of a launcher that gives the chief's address alone, by what it says of this host.
  const bool knows_all = std::ranges::none_of(trainers, [&](const Task& task) { return host_of(task).empty(); });
  const std::string host = host_of(cluster.task);
  const std::ptrdiff_t here = !knows_all ? cluster.local.tasks : std::ranges::count(trainers, host, host_of);
  std::int64_t threads = 0;
  for (const LanePlace& lane : topology.lanes) threads += lane.threads;
  const std::int64_t cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  const bool is_pinned = std::ssize(usable_cores()) < cores;
  if (here < 2 || is_pinned || here * threads <= cores) return "";
  const std::int64_t each = cores / here;
  if (each == 0) {
    return fmt::format(
        "{} workers run on this machine, which has {} core{}, so that they wait for each other many times longer; "
        "start at most {} here",
        here, cores, cores == 1 ? "" : "s", cores);
  }
  return fmt::format(
      "{} workers run on this machine, and each takes {} of its {} cores, so that they wait for each other "
      "many times longer; give each its own, as `taskset -c 0{}` before the first, or start them all with "
      "`mirrortrain launch --workers {}`, which does it",
      here, threads, cores, each > 1 ? fmt::format("-{}", each - 1) : "", here);
}

std::string run_header(const CheckedConfiguration& checked, const Strategy& strategy) {
  std::string text;
  for (const std::string& note : strategy.topology().notes) text += note + "\n";
  const bool has_servers = checked.values().strategy.declaration().has_servers;
  if (checked.cluster && !has_servers) {
    const int workers = strategy.topology().cluster.workers;
    text += fmt::format("{} worker{}, from {}; this is {}\n", workers, workers == 1 ? "" : "s", checked.cluster->source,
                        checked.cluster->describe(checked.cluster->task));
  }
  if (!has_servers) text += replicas_text(strategy.topology(), "\n") + "\n";  // else only the workers have replicas
  text += split_text(checked.values().data.global_batch_size, strategy.num_replicas_in_sync()) + "\n\n";

  if (!checked.has_model()) return text + "no model: the run writes its state alone\n";
  std::vector<report::LayerRow> rows;
  for (const LayerSummary& layer : checked.model->layers) {
    rows.push_back({layer.name, layer.type, layer.output_shape, layer.parameters});
  }
  text += report::layer_table(rows, count_parameters(*checked.model).trainable);

  const MemoryForecast memory = strategy.memory();
  if (memory.variables == 0) return text;  // the variables are in other processes
  const Mesh& mesh = strategy.topology().mesh;
  const bool in_stages = strategy.topology().has_stages_elsewhere();
  const auto places =
      static_cast<std::size_t>(in_stages ? 1 : mesh.replicas() * mesh.model / strategy.topology().cluster.workers);
  text += fmt::format("\nmemory per {}: {} (variables, gradients and optimizer {}, activations {})\n",
                      in_stages         ? "worker"
                      : mesh.model == 1 ? "replica"
                                        : "place",
                      report::bytes_text((memory.variables + memory.activations) / places),
                      report::bytes_text(memory.variables / places), report::bytes_text(memory.activations / places));
  if (memory.examples > 0) {
    text += fmt::format("examples in the memory of GPUs: {}\n", report::bytes_text(memory.examples));
  }
  for (const std::string& line : gpu_memory_lines(memory)) text += line + "\n";
  return text;
}

std::string exchanges_text(const Model& model, const Mesh& mesh, std::int64_t examples) {
  if (mesh.model == 1) return "";
  std::vector<Exchange> exchanges = exchanges_of_places(model, examples, mesh.microbatches);
  std::uint64_t all = 0;
  for (const Exchange& exchange : exchanges) all += exchange.bytes;
  std::string text = fmt::format("the places of a replica exchange {} each in a step of {} example{} of it\n",
                                 report::bytes_text(all), examples, examples == 1 ? "" : "s");
  for (const auto& [layer, collective, bytes] : exchanges) {
    text += fmt::format("  {}: {}, {}\n", layer, collective, report::bytes_text(bytes));
  }
  return text;
}

std::string stage_exchanges_text(const Model& model, const StagesOfWorkers& workers, const Mesh& mesh,
                                 std::int64_t examples) {
  struct Bytes {
    std::uint64_t up = 0, down = 0;
  };
  std::vector<Bytes> sent(static_cast<std::size_t>(workers.workers - 1));  // by boundary, of all places
  for (int place = 0; place < mesh.model; ++place) {
    const ModelGraph& made = model.graph(true, place);
    const auto bytes_of = [&](const std::vector<ValueId>& values) {
      std::uint64_t bytes = 0;
      for (const ValueId value : values) bytes += exchanged_bytes(made.graph.spec(value), examples, mesh.microbatches);
      return bytes;
    };
    const std::vector<StageBoundary> boundaries = stage_boundaries(made, workers, true);
    for (std::size_t i = 0; i < boundaries.size(); ++i) {
      sent[i].up += bytes_of(boundaries[i].up);
      sent[i].down += bytes_of(boundaries[i].down);
    }
  }
  std::string text = fmt::format("the workers of a replica send each other, in a step of {} example{} of it\n",
                                 examples, examples == 1 ? "" : "s");
  const int each = workers.stages / workers.workers;
  for (int last = each; const auto& [up, down] : sent) {
    text += fmt::format("  stage {} to {}: activations, {}; back: gradients, {}\n", last, last + 1,
                        report::bytes_text(up), report::bytes_text(down));
    last += each;
  }
  return text;
}

std::vector<std::string> gpu_memory_lines(const MemoryForecast& forecast) {
  std::vector<std::string> lines;
  for (const auto& [id, run, memory] : forecast.gpus) {
    const std::size_t taken = memory.all - memory.free;
    lines.push_back(fmt::format("{}: {} of {} for the run, {} for the driver, libraries and other programs", id.text(),
                                report::bytes_text(run), report::bytes_text(memory.all),
                                report::bytes_text(taken - std::min(taken, run))));
  }
  return lines;
}

ParameterCounts count_parameters(const Model& model) {
  ParameterCounts counts;
  for (const ModelVariable& variable : model.variables) {
    counts.all += variable.spec.shape.elements();
    if (variable.spec.trainable) counts.trainable += variable.spec.shape.elements();
  }
  return counts;
}

}  // namespace mirrortrain
