// The actions of a step; their order is in lane_plans.cpp.
#include "strategy/steps/lane_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "strategy/variables/gradient_scales.h"

namespace mirrortrain {

namespace {

DomainLane place_in_domain(int index, const Lane& lane, const DomainPlace& domain, LaneTeam& team) {
  DomainLane own;
  own.index = static_cast<int>(std::ranges::find(domain.lanes, index) - domain.lanes.begin());
  own.lanes = static_cast<int>(domain.lanes.size());
  own.threads = lane.device().threads();
  own.replicas = lane.replicas_in_domain();
  own.stream = &lane.stream();
  own.barrier = own.lanes > 1 ? team.barrier() : nullptr;  // such a domain has all of the process's lanes
  own.params = lane.buffers().params();
  own.norms = lane.norms();
  return own;
}

}  // namespace

LaneSteps::LaneSteps(int index, Lane& lane, MemoryDomain& domain, const DomainReduction& reduction,
                     const Topology& topology, std::span<const LaneReplica> replicas, LaneTeam& team,
                     StepOptions options, const std::map<std::string, int>& stages)
    : lane_(lane),
      domain_(domain),
      reduction_(reduction),
      topology_(topology),
      team_(team),
      options_(options),
      own_(place_in_domain(index, lane, domain.place, team)),
      is_first_(&lane == replicas.front().lane),
      scales_(domain.place.replicas.size()) {
  for (const LaneReplica& one : replicas) {
    if (std::ranges::count(domain.place.replicas, one.replica->index) > 0) domain_replicas_.push_back(one);
  }
  if (topology_.mesh.stages > 1 && has_model()) divide_among_stages(stages);
  waits_ = weight_waits();
  training_ = training_plan();
  evaluation_ = evaluation_plan();
}

void LaneSteps::prepare_directions(const Backend& backend) {
  directions_.emplace(model(), domain_.variables, backend, lane_.device(), own_);
}

void LaneSteps::train(const Step& step) {
  const double before = own_.waited_seconds, workers_before = waited_for_workers_so_far();
  training_.run(step);
  waited_for_workers_ = waited_for_workers_so_far() - workers_before;
  waited_in_training_ += own_.waited_seconds - before + waited_for_workers_;
  if (own_.index == 0 && shares_programs())
    team_.working_lanes().step_took(std::chrono::duration<double>(Step::Clock::now() - step.start).count());
}

/// The domain's first lane alone uses its links.
double LaneSteps::waited_for_workers_so_far() const {
  if (!own_.is_first()) return waited_for_stages_;
  double seconds = own_.waited_for_sums + waited_for_stages_;
  reduction_.for_each_link([&](const DomainLink& to) { seconds += to.communicator().waited_seconds(); });
  return seconds;
}

double LaneSteps::take_waiting_share() {
  const double seconds = training_.seconds() + waited_at_end_;
  const double share = seconds > 0 ? (training_.late_seconds() + waited_in_training_ + waited_at_end_) / seconds : 0;
  training_.reset_seconds();
  waited_in_training_ = waited_at_end_ = 0;
  return share;
}

void LaneSteps::profile() {
  training_.profile([this] { wait_for_profile(); }, [this] { return waited_for_workers_so_far(); });
}

void LaneSteps::wait_for_profile() {
  if (own_.is_first() && reduction_.weights) own_.wait_for_sums([this] { reduction_.weights->wait_on(stream()); });
  reduction_.synchronize(stream());
}

void LaneSteps::run_program(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const {
  if (replica.program == nullptr) return run_without_rows(replica, kind, first, last);
  BoundProgram& program = replica.program->program;
  last = std::min(last, program.steps());
  if (first >= last) return;
  try {
    program.enqueue(stream(), first, last);
  } catch (const Error& error) {
    throw Error(fmt::format("{} on {}: {}", place_names({replica.index}, topology_.mesh), lane_.device().id().text(),
                            error.what()));
  }
}

/// Its loss and its metrics.
void LaneSteps::zero_sums(const Replica& replica) const {
  const StepBuffers& buffers = lane_.buffers();
  stream().zero(reinterpret_cast<std::byte*>(buffers.sums(replica.in_lane)), buffers.replica_bytes());
}

/// A replica without examples contributes zeros, and assigns only values that depend on the others.
void LaneSteps::run_without_rows(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const {
  if (first == 0) {
    zero_sums(replica);
    collectives(kind).zero_inputs(stream(), replica.index);
  }
  if (kind == StepKind::kTrain && last == kToTheEnd && replica.without_rows) replica.without_rows->enqueue(stream());
}

/// A replica that never has rows has one that runs none.
std::size_t LaneSteps::kernel_pieces() const { return std::max<std::size_t>(1, lane_.programs().kernels()); }

/// Gathering the rows, each kernel, and the sums of sparse gradients.
std::size_t LaneSteps::pieces_of_replica() const { return 1 + kernel_pieces() + (has_sparse() ? 1 : 0); }

void LaneSteps::run_program_piece(const Step& step, std::size_t piece) {
  if (piece == 0) return send_inputs(step);
  const std::size_t of_replica = pieces_of_replica();
  Replica& replica = lane_.replicas()[(piece - 1) / of_replica];
  const std::size_t kernel = (piece - 1) % of_replica;  // counted from 1
  const std::size_t last = kernel_pieces();
  if (kernel == 0) return gather_rows(step, replica);
  if (kernel > last) return sum_lookups(step, replica);
  run_program(replica, StepKind::kTrain, kernel - 1, kernel == last ? kToTheEnd : kernel);
}

/// Adds what the replica's lookups in each table with a sparse gradient have, row by row.
void LaneSteps::sum_lookups(const Step& step, const Replica& replica) {
  SparseSums& sums = *reduction_.sparse;
  const Graph& graph = lane_.programs().graph_of(StepKind::kTrain, step.key.length).graph;
  for (std::size_t table = 0; table < sums.tables(); ++table) {
    const Aggregation aggregation =
        domain_.variables.variables()[sums.table(table).gradient.variable].policy().aggregation;
    const float scale = gradient_scale(aggregation, replica.index, step.key.examples, topology_.mesh);
    sums.sum(stream(), table, replica.in_domain, rows_of(step, replica).count, scale, graph);
  }
}

/// While lanes rest, the scheduler chooses the others' cores: otherwise two concurrent runs would each keep their first
/// lane on the same core, with the others idle.
void LaneSteps::choose_cores() {
  const bool own = team_.working_lanes().all_work();
  if (own == on_own_cores_) return;
  lane_.device().keep_to_own_cores(own);
  on_own_cores_ = own;
}

void LaneSteps::run_collective(const Step& step, StepKind kind, std::size_t which) {
  GradientReducer* const reducer = kind == StepKind::kTrain ? reduction_.reducer.get() : nullptr;
  collectives(kind).run(which, step.key.examples, own_, reducer);
  if (collectives(kind).exchanges(which)) wait_while_warming_up(step);
}

void LaneSteps::reduce(const Step& step, const GradientBucket& bucket) {
  for (std::size_t i = 0; i < bucket.replicas.size(); ++i) {
    const int replica = domain_.place.replicas[static_cast<std::size_t>(bucket.replicas[i])];
    scales_[i] = gradient_scale(bucket.aggregation, replica, step.key.examples, topology_.mesh);
  }
  collectives(StepKind::kTrain).finish_ahead(own_);
  reduction_.reducer->start(stream(), bucket, std::span(scales_).first(bucket.replicas.size()), own_);
  wait_while_warming_up(step);
}

/// Adds the squares that each domain has of its own over the others that have such, for the norm.
void LaneSteps::add_squares_of_domains(const Step& step) {
  if (!step.key.applies) return;
  const std::span<const OwnSquares> own = domain_.update.own_squares();
  if (own_.is_first()) {
    constexpr std::string_view kWhat = "squares of the gradients in each memory";
    for (const OwnSquares& squares : own) {
      double* const number = lane_.norms() + squares.place;
      if (squares.along_data && reduction_.along_data) reduction_.along_data->sum_number(stream(), number, kWhat);
      if (squares.along_model && reduction_.along_model) reduction_.along_model->sum_number(stream(), number, kWhat);
    }
    wait_while_warming_up(step);
  }
  own_.arrive_and_wait();
  if (!own_.is_first()) {  // lanes of one domain are in host memory
    const double* const first = domain_replicas_.front().lane->norms();
    for (const OwnSquares& squares : own) lane_.norms()[squares.place] = first[squares.place];
  }
  own_.arrive_and_wait();
}

/// Each domain has updated its shard of every bucket, or the variables that it owns. Those of other owners become 0,
/// and then all are added: in host memory their bits as integers, on GPUs as numbers, which makes -0 to 0.
void LaneSteps::gather_weights(const Step& step) {
  if (!step.key.applies || !own_.is_first()) return;
  for (const GradientBucket& bucket : reduction_.buckets) {
    if (bucket.has_owners) zero_others(bucket);
    gather_bucket(bucket, stream());
  }
  wait_while_warming_up(step);
}

void LaneSteps::gather_bucket(const GradientBucket& bucket, Stream& on) const {
  Elements all(weights_of(bucket, domain_.variables), bucket.weights_name);
  Communicator& others = reduction_.along_data->communicator();
  if (!bucket.has_owners) return others.all_gather(on, all);
  if (domain_.place.on_host) all.dtype = DType::kInt32;  // GPUs that copy add float32 alone
  others.all_reduce(on, all);
}

/// In the order in which layers read them.
void LaneSteps::begin_gathering_weights(const Step& step) {
  if (!step.key.applies) return;
  awaits_weights_ = true;
  if (!own_.is_first()) return;
  for (const GradientBucket& bucket : reduction_.buckets) {
    if (bucket.has_owners) zero_others(bucket);
  }
  for (const WeightWait& wait : waits_) {
    for (const std::size_t which : wait.buckets) {
      reduction_.weights->start(
          own_, [this, which](Stream& on) { gather_bucket(reduction_.buckets[which], on); }, which);
    }
  }
  wait_while_warming_up(step);
}

void LaneSteps::finish_gathering_weights(std::span<const std::size_t> buckets) {
  if (!awaits_weights_) return;
  if (own_.is_first()) {
    for (const std::size_t which : buckets) reduction_.weights->finish(own_, which);
  }
  own_.arrive_and_wait();  // they are here
  for (const std::size_t which : buckets) {
    domain_.derived.refresh_of(weights_of(reduction_.buckets[which], domain_.variables), stream(), own_.index,
                               own_.lanes);
  }
  own_.arrive_and_wait();  // every copy is refreshed
  if (buckets.back() == waits_.back().buckets.back()) awaits_weights_ = false;
}

/// Zeros what other memories own of a bucket.
void LaneSteps::zero_others(const GradientBucket& bucket) const {
  const VariableGroup& group = domain_.variables.groups()[static_cast<std::size_t>(bucket.group)];
  float* const weights = weights_of(bucket, domain_.variables).data();
  const std::int64_t end = bucket.begin + bucket.elements;
  std::int64_t done = bucket.begin;
  const auto zero_up_to = [&](std::int64_t element) {
    if (element <= done) return;
    const auto bytes = static_cast<std::size_t>(element - done) * sizeof(float);
    stream().zero(reinterpret_cast<std::byte*>(weights + (done - bucket.begin)), bytes);
  };
  for (const GroupPiece& own : group.pieces(bucket.replicas.front())) {
    zero_up_to(std::min(own.first, end));
    done = std::max(done, own.first + own.elements);
  }
  zero_up_to(end);
}

void LaneSteps::renew_derived_copies() {
  own_.arrive_and_wait();
  refresh_derived_copies(false);
}

void LaneSteps::refresh_derived_copies(bool updated) const {
  domain_.derived.refresh(stream(), own_.index, own_.lanes, updated);
}

}  // namespace mirrortrain
