#include "strategy/variables/run_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "collective/host_values.h"
#include "device/cpu/cpu_device.h"
#include "kernels/host_kernels.h"

namespace mirrortrain {
namespace {

constexpr const char* kWhat = "a variable's copies";

/// Calls body(variable) for all that was asked for.
template <class Body>
void for_each_part(const LastingVariable& variable, const Body& body) {
  if (variable.value.data(0) != nullptr) body(variable.value);
  for (const DistributedVariable& slot : variable.slots) body(slot);
  if (variable.accumulated) body(*variable.accumulated);
  if (variable.residual) body(*variable.residual);
}

/// Completes copies of which only one worker has each element; the others have zeros. `is_divided`, `is_sharded`:
/// whether that is so of all that lasts, and of all beside the value.
void gather_copies(Communicator& workers, const LastingVariable& variable, bool is_divided, bool is_sharded) {
  for_each_part(variable, [&](const DistributedVariable& part) {
    const bool is_elsewhere = is_divided || (is_sharded && &part != &variable.value);
    if (!part.policy().copies_can_differ() && !is_elsewhere) return;
    for (const std::span<std::byte> copy : part.storage()) merge(workers, copy, kWhat);
  });
}

/// The sum of a weight's regularization terms, in an order that does not depend on where it is. `sums`: memory.
double regularization_of(const ModelVariable& variable, const std::byte* values, std::vector<double>& sums) {
  const std::int64_t elements = variable.spec.shape.elements();
  const scalar::RegularizedSegment segment{0, elements, variable.l1, variable.l2};
  sums.resize(static_cast<std::size_t>((elements + scalar::kUpdateChunk - 1) / scalar::kUpdateChunk));
  scalar::UpdateGroupView view;
  view.regularized = {&segment, 1};
  view.master = reinterpret_cast<float*>(const_cast<std::byte*>(values));  // which is read only
  view.regularization = sums.data();
  InlineStream here;
  host_backend().step_kernels().sum_regularization(here, view, 0, elements);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// Of each place's parts.
std::vector<VariableLayouts> layouts_of(const Model& model, const Backend& backend) {
  std::vector<VariableLayouts> all;
  for (int place = 0; place < model.places(); ++place) {
    const ModelGraph &training = model.graph(true, place), &evaluation = model.graph(false, place);
    const GraphVariables graphs[] = {{training.graph, training.variables}, {evaluation.graph, evaluation.variables}};
    try {
      all.push_back(backend.layouts(graphs));
    } catch (const Error& error) {
      if (model.places() == 1) throw;
      throw UsageError(
          fmt::format("strategy.mesh: {}: on these devices a place needs all of a filter's numbers or the part that it "
                      "computes with; give its variable a `shard` that divides the last axis, or [null]",
                      error.what()));
    }
    std::erase_if(all.back(), [&](const auto& one) {  // directions read rows and columns of the canonical order
      return scalar::takes_directions(model.variables[one.first].update.rule);
    });
  }
  return all;
}

}  // namespace

RunVariables::RunVariables(const Model& model, StoreOptions store, const UpdateOptions& update,
                           const Topology& topology, std::span<Device* const> devices, const Backend& backend,
                           Communicator* workers)
    : model_(model),
      mesh_(topology.mesh),
      memories_(topology.ranks()),
      in_row_(topology.memories_of_replica()),
      in_stages_(topology.has_stages_elsewhere()),
      domain_of_lane_(topology.lanes.size()),
      workers_(workers) {
  const std::vector<VariableLayouts> layouts = layouts_of(model, backend);
  store.all_replicas = mesh_.places();
  for (const DomainPlace& place : topology.domains()) {
    for (const int lane : place.lanes) {
      domain_of_lane_[static_cast<std::size_t>(lane)] = static_cast<int>(domains_.size());
    }
    store.places.clear();
    store.shard.rank = place.rank / in_row_;
    for (const int replica : place.replicas) store.places.push_back(mesh_.index(replica));
    Device& device = *devices[static_cast<std::size_t>(place.lanes.front())];
    try {
      domains_.push_back(
          std::make_unique<MemoryDomain>(place, mesh_, model, store, update, device, backend.step_kernels(), layouts));
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      throw Error(fmt::format("the variables with gradients and optimizer slots: {}", error.what()));
    }
  }
  regularization_terms_.resize(model.variables.size());
  const DomainPlace& first = domains_[0]->place;
  is_in_place_ =
      first.on_host && mesh_.model == 1 && static_cast<int>(first.replicas.size()) == mesh_.places() && !in_stages_;
  if (first.on_host || in_stages_ || workers_ != nullptr) return;
  std::vector<Device*> of_domains;
  for (const auto& domain : domains_) {
    of_domains.push_back(devices[static_cast<std::size_t>(domain->place.lanes.front())]);
  }
  evaluation_copies_.emplace(model_, mesh_, domains_, of_domains, backend.copy_kernels());
}

void RunVariables::begin_update(const StepSpec& step, StepParams& params) {
  for (const auto& domain : domains_) domain->update.begin(step, params);
}

const std::vector<LastingVariable>& RunVariables::all_in_place(Lasting what) {
  const auto [found, is_new] = all_in_place_.try_emplace(what);
  if (is_new) found->second = lasting_variables(domains_[0]->variables, what);
  return found->second;
}

VariableWindow RunVariables::window() const { return {mesh_.data, memories_}; }

LastingVariable RunVariables::open(VariableWindow& window, std::size_t variable, Lasting what) const {
  return window.open(domains_[0]->variables, variable, model_.variables[variable].spec.shape, what, in_place(variable));
}

/// Whether the elements that a domain has of a variable are neighbours in its memory, in the order of files.
bool RunVariables::can_be_cut(std::size_t variable) const {
  const bool is_laid_out = std::ranges::any_of(
      domains_[0]->layouts, [&](const VariableLayouts& of_part) { return of_part.contains(variable); });
  return !model_.variables[variable].sharding.is_divided() && !is_laid_out;
}

InPlace RunVariables::in_place(std::size_t variable) const {
  const MemoryDomain& domain = *domains_[0];
  const VariableStore& here = domain.variables;
  const bool is_whole = domain.place.on_host && here.is_here(variable) && can_be_cut(variable) &&
                        !here.division(variable).any() && !here.variables()[variable].policy().copies_can_differ();
  if (!is_whole || in_stages_ || here.residual(variable)) return {};
  return {true, !here.sharded(variable)};
}

/// Whether a row of memories is in this process.
bool RunVariables::is_whole_here() const { return std::ssize(domains_) % in_row_ == 0; }

/// Whether a memory copies what others have, too: of what all have, the first of this process; of the parts of a
/// divided variable, or of the stages' variables, those of a row, which is the run's first one if it is in several
/// processes.
bool RunVariables::copies_everything(const MemoryDomain& domain, std::size_t variable) const {
  const int first = domains_.front()->place.rank, own = domain.place.rank;
  if (in_stages_) return own < in_row_;
  if (!model_.variables[variable].sharding.is_divided()) return own == first;
  return is_whole_here() ? own - first < in_row_ : own < in_row_;
}

/// Copies the last values to a variable, or a piece of one, of zeros. `here_alone`: those of this process.
void RunVariables::read_one(const LastingVariable& whole, std::span<Stream* const> streams, bool here_alone) const {
  for (const auto& domain : domains_) {
    const bool is_in_first_row = domain->place.rank - domains_.front()->place.rank < in_row_;
    const bool everything = here_alone ? is_in_first_row : copies_everything(*domain, whole.index);
    domain->copy_to(stream_of(*domain, streams), whole, everything);
  }
  if (workers_ == nullptr || here_alone) return;
  const ModelVariable& of = model_.variables[whole.index];
  const bool is_divided = of.data_parts > 1 || in_stages_ || (!is_whole_here() && of.sharding.is_divided());
  gather_copies(*workers_, whole, is_divided, domains_[0]->variables.sharded(whole.index));
}

void RunVariables::read(Lasting what, std::span<Stream* const> streams, const VariableVisit& visit) {
  if (is_in_place_) return std::ranges::for_each(all_in_place(what), visit), void();
  VariableWindow memory = window();
  for (std::size_t i = 0; i < model_.variables.size(); ++i) {
    const LastingVariable whole = open(memory, i, what);
    if (!includes(what, Lasting::kShapesAlone)) read_one(whole, streams, includes(what, Lasting::kHereAlone));
    visit(whole);
  }
}

void RunVariables::read_in_pieces(Lasting what, std::span<Stream* const> streams, const PieceVisit& visit) {
  if (is_in_place_) {
    for (const LastingVariable& whole : all_in_place(what)) for_each_piece(whole, visit);
    return;
  }
  const VariableStore& here = domains_[0]->variables;
  VariableWindow memory = window(), shapes = window();
  const bool here_alone = includes(what, Lasting::kHereAlone);
  for (std::size_t i = 0; i < model_.variables.size(); ++i) {
    const InPlace own = in_place(i);
    const LastingVariable of_shapes = open(shapes, i, what | Lasting::kShapesAlone);
    const auto read_thing = [&](Lasting thing, std::size_t slot, const Shape& shape, bool is_in_place) {
      if (is_in_place) {
        // Without memory for anything else: of what is beside, only this thing is visited.
        const LastingVariable whole = open(memory, i, thing);
        for_each_piece(whole, [&](const LastingPiece& piece) {
          if (piece.slot == slot) visit(piece);
        });
        return;
      }
      const bool is_state = thing == Lasting::kSlots && static_cast<int>(slot) >= here.element_slots(i);
      const std::size_t copies = thing == Lasting::kResiduals ? static_cast<std::size_t>(memories_)
                                 : here.variables()[i].policy().copies_can_differ()
                                     ? static_cast<std::size_t>(mesh_.data)
                                     : 1;
      const auto most = static_cast<std::int64_t>(std::max<std::size_t>(kPieceBytes / sizeof(float) / copies, 1));
      const std::int64_t elements = shape.elements(), each = can_be_cut(i) && !is_state ? most : elements;
      for (std::int64_t first = 0; first < elements; first += each) {
        const LastingVariable one = memory.open_piece(here, i, thing, slot, first, std::min(each, elements - first));
        read_one(one, streams, here_alone);
        for_each_piece(one, visit);
      }
    };
    if (includes(what, Lasting::kValues)) read_thing(Lasting::kValues, 0, of_shapes.value.shape(), own.value);
    for (std::size_t slot = 0; slot < of_shapes.slots.size(); ++slot) {
      read_thing(Lasting::kSlots, slot, of_shapes.slots[slot].shape(), own.beside);
    }
    if (of_shapes.accumulated) read_thing(Lasting::kAccumulated, 0, of_shapes.accumulated->shape(), own.beside);
    if (of_shapes.residual) read_thing(Lasting::kResiduals, 0, of_shapes.residual->shape(), false);
  }
}

std::size_t RunVariables::window_bytes() const {
  if (is_in_place_) return 0;
  std::size_t most = 0;
  for (std::size_t i = 0; i < model_.variables.size(); ++i) {
    if (in_place(i).beside) continue;
    const std::size_t bytes = static_cast<std::size_t>(model_.variables[i].spec.shape.elements()) * sizeof(float);
    const bool differ = domains_[0]->variables.variables()[i].policy().copies_can_differ();
    most = std::max(most, can_be_cut(i) ? std::min(bytes, kPieceBytes)
                                        : bytes * (differ ? static_cast<std::size_t>(mesh_.data) : 1));
  }
  return most;
}

void RunVariables::write(Lasting what, std::span<Stream* const> streams, const VariableVisit& visit, bool reads) {
  if (is_in_place_) return std::ranges::for_each(all_in_place(what), visit), void();
  VariableWindow memory = window();
  for (std::size_t i = 0; i < model_.variables.size(); ++i) {
    const LastingVariable whole = open(memory, i, what);
    if (reads) read_one(whole, streams);
    if (workers_ == nullptr || workers_->rank() == 0) visit(whole);
    if (workers_ != nullptr) {
      for_each_part(whole, [&](const DistributedVariable& part) {
        for (const std::span<std::byte> copy : part.storage()) take_from_chief(*workers_, copy, kWhat);
      });
    }
    for (const auto& domain : domains_) domain->copy_from(stream_of(*domain, streams), whole);
  }
}

std::vector<Stream*> RunVariables::streams_of_domains(std::span<Stream* const> streams) const {
  std::vector<Stream*> own;
  for (const auto& domain : domains_) own.push_back(&stream_of(*domain, streams));
  return own;
}

double RunVariables::begin_evaluation(std::span<Stream* const> streams) {
  VariableWindow memory = window();
  std::vector<std::byte> value;
  MemoryDomain& first = *domains_[0];
  const VariableStore& here = first.variables;
  if (evaluation_copies_) evaluation_copies_->update(streams_of_domains(streams));
  std::vector<double>& terms = regularization_terms_;
  std::ranges::fill(terms, 0.0);
  for (std::size_t i = 0; i < model_.variables.size(); ++i) {
    const ModelVariable& variable = model_.variables[i];
    // Workers ask each other for what not all of them have: all sum up the same weights where these are.
    const bool is_summed = !in_stages_ && first.regularization.covers(i);
    const bool is_regularized = here.trainable(i) && (variable.l1 != 0 || variable.l2 != 0) && !is_summed;
    const bool is_copied = here.has_evaluation_copy(i) && !(evaluation_copies_ && evaluation_copies_->makes(i));
    if (!is_copied && !is_regularized) continue;
    const auto add_regularization = [&](const DistributedVariable& whole) {
      if (is_regularized) terms[i] = regularization_of(variable, whole.data(0), regularization_sums_);
    };
    if (is_in_place_) {
      const DistributedVariable& own = here.variables()[i];
      add_regularization(own);
      if (is_copied) own.read_or_first(reinterpret_cast<std::byte*>(here.evaluation_copy(i)));
      continue;
    }
    const LastingVariable whole = open(memory, i, Lasting::kValues);
    read_one(whole, streams);
    add_regularization(whole.value);
    if (!is_copied) continue;
    value.resize(whole.value.bytes());
    whole.value.read_or_first(value.data());
    for (const auto& domain : domains_) domain->copy_evaluation_from(stream_of(*domain, streams), i, value.data());
  }
  if (!in_stages_) {
    const auto& sums = first.regularization.sums(stream_of(first, streams));
    for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = sums[i].value_or(terms[i]);
  }
  return std::accumulate(terms.begin(), terms.end(), 0.0);
}

std::size_t RunVariables::bytes() const {
  std::size_t total = 0;
  for (const auto& domain : domains_) total += bytes_of_lane(domain->place.lanes.front());
  return total;
}

std::size_t RunVariables::bytes_of_lane(int lane) const {
  const auto domain = static_cast<std::size_t>(domain_of_lane(lane));
  return domains_[domain]->bytes() + (evaluation_copies_ ? evaluation_copies_->bytes(domain) : 0);
}

}  // namespace mirrortrain
