#include "strategy/variables/evaluation_copies.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/round_up.h"

namespace mirrortrain {
namespace {

const float* values_of(const VariableStore& variables, std::size_t variable, int replica) {
  return reinterpret_cast<const float*>(variables.variables()[variable].data(replica));
}

/// In the end, also where something throws, the thread has entered this device again.
class RestoredDevice {
 public:
  explicit RestoredDevice(Device& device) : device_(device) {}
  ~RestoredDevice() {
    try {
      device_.enter_thread();
    } catch (const Error&) {  // the device failed, which its next call reports
    }
  }
  RestoredDevice(const RestoredDevice&) = delete;
  RestoredDevice& operator=(const RestoredDevice&) = delete;

 private:
  Device& device_;
};

}  // namespace

EvaluationCopies::EvaluationCopies(const Model& model, const Mesh& mesh,
                                   std::span<const std::unique_ptr<MemoryDomain>> domains,
                                   std::span<Device* const> devices, const CopyKernels* kernels)
    : model_(model),
      mesh_(mesh),
      domains_(domains),
      devices_(devices.begin(), devices.end()),
      kernels_(kernels),
      gathered_(domains.size()) {
  if (kernels_ == nullptr) return;
  const VariableStore& first = domains_[0]->variables;
  for (std::size_t i = 0; i < model_.variables.size(); ++i) {
    if (!first.has_evaluation_copy(i) || first.division(i).data) continue;
    if (plan(i, first.variables()[i].policy())) made_.insert(i);
  }
  std::vector<std::size_t> bytes(domains_.size());
  for (const Sum& sum : sums_) bytes[sum.domain] = std::max(bytes[sum.domain], sum.bytes_of_buffer());
  for (std::size_t domain = 0; domain < bytes.size(); ++domain) {
    if (bytes[domain] > 0) gathered_[domain] = devices_[domain]->allocate(bytes[domain]);
  }
  for (Device* const device : devices_) summed_.push_back(device->make_event());
}

/// Where the place of a replica is in this process.
std::optional<EvaluationCopies::At> EvaluationCopies::find(const MeshIndex& place) const {
  for (std::size_t domain = 0; domain < domains_.size(); ++domain) {
    const VariableStore& variables = domains_[domain]->variables;
    for (int r = 0; r < variables.replicas(); ++r) {
      const MeshIndex& own = variables.mesh_index(r);
      if (own.data == place.data && own.model == place.model) return At{domain, r};
    }
  }
  return std::nullopt;
}

/// Plans how the variable's value comes to all memories; false if this process does not have all that it takes.
bool EvaluationCopies::plan(std::size_t variable, const VariablePolicy& policy) {
  const bool is_divided = domains_[0]->variables.division(variable).model,
             mean = policy.aggregation == Aggregation::kMean;
  const bool adds = policy.synchronization == Synchronization::kOnRead && mesh_.data > 1 &&
                    (mean || policy.aggregation == Aggregation::kSum);
  for (int part = 0; part < (is_divided ? mesh_.model : 1); ++part) {
    for (int data = 0; data < (adds ? mesh_.data : 1); ++data) {
      if (!find({data, part})) return false;
    }
  }
  struct Source {
    At home;
    const float* values;
  };
  std::map<int, Source> sources;  // by part
  std::set<const float*> seen;    // replicas share copies
  for (std::size_t domain = 0; domain < domains_.size(); ++domain) {
    const VariableStore& variables = domains_[domain]->variables;
    for (int r = 0; r < variables.replicas(); ++r) {
      float* const to = variables.evaluation_copy(variable, r);
      if (!seen.insert(to).second) continue;
      const int part = is_divided ? variables.mesh_index(r).model : 0;
      const std::int64_t elements = model_.local_shape(variable, part).elements();
      if (!sources.contains(part)) {
        const At home = *find({0, part});
        const VariableStore& there = domains_[home.domain]->variables;
        sources.emplace(part, Source{home, adds ? sum_of(variable, part, mean, home, elements)
                                                : values_of(there, variable, home.replica)});
      }
      const auto& [home, values] = sources.at(part);
      if (to == values) continue;
      (adds ? results_ : firsts_).push_back({domain, to, values, static_cast<std::size_t>(elements) * sizeof(float)});
      if (adds && domain != home.domain) waits_.emplace(domain, home.domain);
    }
  }
  return true;
}

/// Plans the sum, or the mean, of all replicas' copies of a part; returns where it will be, in the home's memory.
const float* EvaluationCopies::sum_of(std::size_t variable, int part, bool mean, const At& home,
                                      std::int64_t elements) {
  std::vector<const float*> copies;
  for (int data = 0; data < mesh_.data; ++data) {
    const At at = *find({data, part});
    copies.push_back(values_of(domains_[at.domain]->variables, variable, at.replica));
  }
  float* const to = domains_[home.domain]->variables.evaluation_copy(variable, home.replica);
  sums_.push_back({home.domain, std::move(copies), mean, to, elements});
  return to;
}

std::int64_t EvaluationCopies::Sum::stride() const {
  constexpr std::int64_t kAligned = 16;
  return round_up(elements, kAligned);
}

std::size_t EvaluationCopies::Sum::bytes_of_buffer() const {
  return copies.size() * static_cast<std::size_t>(stride()) * sizeof(float);
}

void EvaluationCopies::enqueue(const std::vector<Copy>& copies, std::span<Stream* const> streams) const {
  for (const auto& [domain, to, from, bytes] : copies) {
    streams[domain]->copy(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from), bytes);
  }
}

/// The stream's order lets one sum after another use the domain's buffer.
void EvaluationCopies::enqueue(const Sum& sum, Stream& stream) const {
  auto* const gathered = gathered_[sum.domain].as<float>();
  for (std::size_t i = 0; i < sum.copies.size(); ++i) {
    float* const to = gathered + static_cast<std::int64_t>(i) * sum.stride();
    stream.copy(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(sum.copies[i]),
                static_cast<std::size_t>(sum.elements) * sizeof(float));
  }
  kernels_->combine_copies(stream, gathered, static_cast<int>(sum.copies.size()), sum.stride(), sum.mean, sum.to,
                           sum.elements);
}

void EvaluationCopies::update(std::span<Stream* const> streams) {
  if (made_.empty()) return;
  if (!sums_.empty()) {
    const RestoredDevice restored(*devices_[0]);
    for (const Sum& sum : sums_) {
      devices_[sum.domain]->enter_thread();  // which kernels are launched on
      enqueue(sum, *streams[sum.domain]);
    }
  }
  enqueue(firsts_, streams);
  for (std::size_t domain = 0; domain < summed_.size(); ++domain) streams[domain]->record(*summed_[domain]);
  for (const auto& [domain, home] : waits_) streams[domain]->wait(*summed_[home]);
  enqueue(results_, streams);
  for (Stream* const stream : streams) stream->synchronize();
}

std::size_t EvaluationCopies::bytes(std::size_t domain) const { return gathered_[domain].bytes(); }

}  // namespace mirrortrain
