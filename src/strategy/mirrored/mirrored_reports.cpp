// A mirrored strategy's reports: its variables, its memory, and the time spent in its steps.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "collective/host_values.h"
#include "collective/process_group.h"
#include "collective/shared_memory/shared_memory_communicator.h"
#include "strategy/mirrored/mirrored_strategy.h"
#include "strategy/reduction/workers.h"
#include "strategy/variables/equal_copies.h"
#include "strategy/variables/run_variables.h"

namespace mirrortrain {
namespace {

/// Two doubles represent 64 bits exactly.
constexpr int kHalf = 32;
double high_half(std::uint64_t bits) { return static_cast<double>(bits >> kHalf); }
double low_half(std::uint64_t bits) { return static_cast<double>(static_cast<std::uint32_t>(bits)); }
std::uint64_t whole(double high, double low) {
  return static_cast<std::uint64_t>(high) << kHalf | static_cast<std::uint64_t>(low);
}

/// A checksum of each variable, of its parts here; of no bytes if the replicas do not share the variable
/// or have parts of their own.
std::vector<std::uint64_t> checksums_of(const MemoryDomain& domain, Stream& stream) {
  std::vector<std::uint64_t> checksums;
  std::vector<std::byte> on_host;
  for (const DistributedVariable& variable : domain.variables.variables()) {
    std::vector<std::uint64_t> of_parts;
    const std::size_t number = checksums.size();
    const bool shared = !variable.policy().copies_can_differ() && !domain.variables.division(number).data;
    for (const std::span<std::byte> part : shared ? variable.storage() : std::vector<std::span<std::byte>>()) {
      std::span<const std::byte> bytes = part;
      if (!domain.place.on_host) {
        on_host.resize(bytes.size());
        stream.copy(on_host.data(), bytes.data(), bytes.size());
        stream.synchronize();
        bytes = on_host;
      }
      of_parts.push_back(checksum(bytes));
    }
    checksums.push_back(of_parts.size() == 1 ? of_parts.front() : checksum(std::as_bytes(std::span(of_parts))));
  }
  return checksums;
}

/// Compares the variables that all replicas share, in every memory of the run, and parts of divided ones, or variables
/// of a stage that only some of the workers have, in those that have the same. `stage_holders`: how many workers have
/// the stages of a replica. Returns the first whose copies differ, and the replicas ("dense/kernel: replica 2 has other
/// values than the rest"); empty if all are equal. `streams`: the lanes', with no work in flight. Called by every
/// worker. Compares all at once, and one by one only if something differs.
std::string differing_variable(const RunVariables& run, const Model& model, const Mesh& mesh, int stage_holders,
                               std::span<Stream* const> streams, const Workers& workers) {
  std::map<int, std::vector<std::uint64_t>> checksums;  // by place of this process
  for (const auto& domain : run.domains()) {
    Stream& stream = *streams[static_cast<std::size_t>(domain->place.lanes.front())];
    const std::vector<std::uint64_t> of_domain = checksums_of(*domain, stream);
    for (const int replica : domain->place.replicas) {
      if (mesh.data_index(replica) % mesh.microbatches == 0) checksums[replica] = of_domain;
    }
  }
  const auto difference = [&](const std::vector<std::size_t>& variables, bool are_divided) {
    std::vector<double> halves;
    for (const auto& [place, own] : checksums) {
      std::vector<std::uint64_t> chosen;
      for (const std::size_t variable : variables) chosen.push_back(own[variable]);
      const std::uint64_t sum = checksum(std::as_bytes(std::span(chosen)));
      halves.insert(halves.end(), {high_half(sum), low_half(sum)});
    }
    const std::vector<double> all = workers.gather(halves);
    const auto parts = static_cast<std::size_t>(are_divided || stage_holders > 1 ? mesh.model * stage_holders : 1);
    std::vector<std::vector<std::uint64_t>> of_places(parts);  // by part
    for (std::size_t i = 0; i < all.size(); i += 2) of_places[i / 2 % parts].push_back(whole(all[i], all[i + 1]));
    std::string text;
    for (auto part = of_places.begin(); text.empty() && part != of_places.end(); ++part) {
      text = differing_replicas_text(*part, mesh.model > 1 && !are_divided ? "place" : "replica");
    }
    return text;
  };
  for (const bool are_divided : {false, true}) {
    std::vector<std::size_t> variables;
    for (std::size_t i = 0; i < model.variables.size(); ++i) {
      if (model.variables[i].sharding.is_divided() == are_divided) variables.push_back(i);
    }
    if (variables.empty() || difference(variables, are_divided).empty()) continue;
    for (const std::size_t i : variables) {
      const std::string text = difference({i}, are_divided);
      if (!text.empty()) return model.variables[i].spec.name + ": " + text;
    }
  }
  return "";
}

/// What gloo's threads and connections take, as measured.
constexpr std::size_t kOfGloo = std::size_t{5} << 20;

/// Adds what a domain's sums with others take of host memory beside the run's own buffers, as far as it is known.
void add_exchange(const DomainReduction& reduction, const std::string& carrier, MemoryForecast& forecast) {
  std::size_t summed = 0, largest = kMostMerged;  // bytes of buckets
  for (const GradientBucket& bucket : reduction.buckets) {
    if (!reduction.adds_by_communicator || bucket.scattered || bucket.compressed) continue;
    const std::size_t bytes = static_cast<std::size_t>(bucket.elements) * sizeof(float);
    summed += bytes;
    largest = std::max(largest, bytes);
  }
  forecast.received += reduction.received_bytes();
  reduction.for_each_link([&](const DomainLink& to) {
    const int ranks = to.communicator().size();
    if (carrier == transport::kSharedMemory) forecast.shared += shared_memory_bytes(ranks);
    if (carrier == transport::kGloo) forecast.received += largest + kOfGloo;  // to add what comes
  });
  if (carrier != transport::kSharedMemory || reduction.along_data == nullptr) return;
  // Each rank adds its part of all ranks' gradients where these are.
  const auto others = static_cast<std::size_t>(reduction.along_data->communicator().size() - 1);
  forecast.shared += summed / (others + 1) * others;
}

}  // namespace

std::string MirroredStrategy::differing_replicas() {
  if (!reduction_->exchanges()) return "";
  synchronize();
  const int stage_holders = topology_.mesh.stages > 1 ? topology_.memories_of_replica() : 1;
  return differing_variable(*variables_, model_, topology_.mesh, stage_holders, lanes_.streams, workers());
}

std::vector<double> MirroredStrategy::take_waiting_shares() {
  std::vector<double> shares;
  for (const auto& lane : lane_steps_) shares.push_back(lane->take_waiting_share());
  return shares;
}

void MirroredStrategy::profile() {
  enqueue_deferred();
  multi_step_.reset();
  for (const auto& lane : lane_steps_) lane->profile();
  for (const auto& [lane, replica] : lanes_.replicas) {
    for (auto& [size, bound] : replica->train) bound.program.profile();
  }
}

std::vector<ProfileEntry> MirroredStrategy::profile_entries() const {
  std::vector<ProfileEntry> entries;
  for (int lane = 0; lane < lanes_.size(); ++lane) {
    for (const auto& [action, seconds] : steps_of_lane(lane).training().action_times()) {
      entries.push_back({lanes_[lane].device().id().text(), "", action, seconds});
    }
  }
  // If the update computes a weight's gradient, the op for both computes only the bias's gradient.
  std::set<std::pair<std::string, std::string>> without_weights;
  for (const ProductGradient& product : deferred_.products) {
    const Graph& graph = model_.training.graph;
    const Node& node = graph.node(graph.value(model_.training.gradients[product.variable]).producer);
    without_weights.emplace(node.layer, node.op->name());
  }
  for (const auto& [lane, replica] : lanes_.replicas) {
    if (replica->model > 0) continue;  // the other places of a replica do the same
    for (const auto& [size, bound] : replica->train) {
      if (size.rows != replica->train.rbegin()->first.rows) continue;
      for (const auto& [layer, op, seconds] : bound.program.step_times()) {
        const bool of_bias = without_weights.contains({layer, op});
        entries.push_back({fmt::format("replica {}", topology_.mesh.replica_of(replica->index)), layer,
                           of_bias ? "bias_gradient" : op, seconds});
      }
    }
  }
  return entries;
}

MemoryForecast MirroredStrategy::memory() const {
  MemoryForecast forecast;
  forecast.variables = variables_->bytes();
  for (int index = 0; index < lanes_.size(); ++index) {
    const Lane& lane = lanes_[index];
    const std::size_t examples = lane.examples() != nullptr ? lane.examples()->bytes() : 0;
    forecast.activations += lane.bytes();
    const bool is_first = variables_->of_lane(index).place.lanes.front() == index;
    if (is_first) forecast.activations += reduction_of_lane(index).rows_bytes();
    if (is_first && !topology_.on_gpus()) add_exchange(reduction_of_lane(index), reduction_->transport(), forecast);
    if (!lane_steps_.empty()) forecast.directions += steps_of_lane(index).direction_bytes();
    forecast.examples += examples;
    if (!topology_.on_gpus()) continue;
    const std::size_t run =
        variables_->bytes_of_lane(index) + lane.bytes() + examples + reduction_of_lane(index).bytes();
    forecast.gpus.push_back({lane.device().id(), run, lane.device().memory()});
  }
  if (topology_.cluster.workers > 1) forecast.window = variables_->window_bytes();
  return forecast;
}

}  // namespace mirrortrain
