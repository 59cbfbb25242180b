#include "strategy/steps/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/relax.h"

namespace mirrortrain {
namespace {

/// The order in which a stage of its own computes the microbatches of a replica.
std::vector<MicrobatchWork> order_of_stage(const Mesh& mesh, int replica, int stage, bool trains) {
  std::vector<MicrobatchWork> order;
  const bool is_last = stage + 1 == mesh.stages;
  const int ahead = trains && !is_last ? std::min(mesh.stages - 1 - stage, mesh.microbatches) : 0;
  const auto add = [&](int microbatch, bool backward) {
    if (microbatch >= 0 && microbatch < mesh.microbatches) order.push_back({replica, stage, microbatch, backward});
  };
  for (int i = 0; i < mesh.microbatches + ahead; ++i) {
    add(i, false);
    if (trains && !is_last) add(i - ahead, true);
  }
  return order;
}

/// What has to be done before `work` by the stages `here`; nothing for what other stages give, and for a replica's
/// first microbatches.
std::optional<MicrobatchWork> needed_before(const Mesh& mesh, const StageRange& here, MicrobatchWork work,
                                            bool trains) {
  if (work.backward) {
    if (++work.stage > here.last) return std::nullopt;
  } else if (work.stage > here.first) {
    --work.stage;
  } else {  // whose memory it takes
    work.microbatch -= mesh.in_flight();
    work.backward = trains;
    work.stage = trains ? here.first : here.last;
    if (work.microbatch < 0) return std::nullopt;
  }
  return work;
}

/// When each stage would compute what, if all had a lane of their own and everything took the same time.
class IdealTimes {
 public:
  IdealTimes(const Mesh& mesh, bool trains) {
    const auto stages = static_cast<std::size_t>(mesh.stages),
               microbatches = static_cast<std::size_t>(mesh.microbatches);
    for (auto* ends : {&forward_, &backward_}) ends->assign(stages, std::vector<int>(microbatches, kUnknown));
    std::vector<std::vector<MicrobatchWork>> orders;
    for (int stage = 0; stage < mesh.stages; ++stage) orders.push_back(order_of_stage(mesh, 0, stage, trains));
    const StageRange all{0, mesh.stages - 1};
    std::vector<std::size_t> next(stages, 0);
    std::vector<int> now(stages, 0);
    for (bool any = true; any;) {
      any = false;
      for (std::size_t s = 0; s < stages; ++s) {
        for (; next[s] < orders[s].size(); ++next[s], any = true) {
          const MicrobatchWork& work = orders[s][next[s]];
          const auto before = needed_before(mesh, all, work, trains);
          const int ready = before ? end_of(*before) : 0;
          if (ready == kUnknown) break;
          now[s] = std::max(now[s], ready) + 1;
          end_of(work) = now[s];
          if (trains && s + 1 == stages) backward_[s][static_cast<std::size_t>(work.microbatch)] = now[s];
        }
      }
    }
  }

  int& end_of(const MicrobatchWork& work) {
    return (work.backward ? backward_
                          : forward_)[static_cast<std::size_t>(work.stage)][static_cast<std::size_t>(work.microbatch)];
  }

 private:
  static constexpr int kUnknown = -1;
  std::vector<std::vector<int>> forward_, backward_;  ///< by stage and microbatch: when it is done
};

}  // namespace

std::vector<MicrobatchWork> pipeline_schedule(const Mesh& mesh, std::span<const StagePlace> stages, bool trains) {
  IdealTimes times(mesh, trains);
  std::set<std::pair<int, int>> own;  // stages and replicas, ordered as in every lane
  for (const StagePlace& place : stages) own.emplace(place.stage, place.replica);
  std::vector<MicrobatchWork> schedule;
  for (const auto& [stage, replica] : own) {
    std::ranges::copy(order_of_stage(mesh, replica, stage, trains), std::back_inserter(schedule));
  }
  std::ranges::stable_sort(schedule, {}, [&](const MicrobatchWork& work) { return times.end_of(work); });
  return schedule;
}

StageRanges stage_steps(const Program& program, const std::map<std::string, int>& stages, int count, bool trains) {
  std::vector<int> of_steps;
  for (std::size_t step = 0; step < program.steps(); ++step) {
    const auto found = stages.find(program.layer_of_step(step));
    of_steps.push_back(found == stages.end() ? -1 : found->second);
  }
  return {of_steps, count, trains};
}

PipelineProgress::PipelineProgress(const Mesh& mesh, std::span<const LanePlace> lanes, bool spin)
    : mesh_(mesh), here_{mesh.stages, 0}, done_(static_cast<std::size_t>(mesh.replicas() * mesh.stages * mesh.model)) {
  std::map<std::pair<int, int>, std::set<const LanePlace*>> lanes_of;  // by replica and stage
  for (const LanePlace& lane : lanes) {
    for (const StagePlace& place : lane.stages) {
      here_ = {std::min(here_.first, place.stage), std::max(here_.last, place.stage)};
      lanes_of[{place.replica, place.stage}].insert(&lane);
    }
  }
  for (const auto& [row, of_row] : lanes_of) {
    if (of_row.size() > 1) barriers_[row] = std::make_unique<Barrier>(static_cast<int>(of_row.size()), spin);
  }
}

Barrier* PipelineProgress::barrier_of(int replica, int stage) const {
  const auto found = barriers_.find({replica, stage});
  return found == barriers_.end() ? nullptr : found->second.get();
}

void PipelineProgress::set_timeout(double seconds) {
  for (const auto& [row, barrier] : barriers_) barrier->set_timeout(seconds);
}

void PipelineProgress::abort(const std::string& reason) {
  for (const auto& [row, barrier] : barriers_) barrier->abort(reason);
}

bool PipelineProgress::can_begin(const MicrobatchWork& work, bool trains) const {
  const auto before = needed_before(mesh_, here_, work, trains);
  if (!before) return true;
  for (int model = 0; model < mesh_.model; ++model) {
    const Done& there = done_[number(before->replica, before->stage, model)];
    const std::atomic<int>& done = before->backward ? there.backward : there.forward;
    if (done.load(std::memory_order_acquire) <= before->microbatch) return false;
  }
  return true;
}

double PipelineProgress::wait_for(const MicrobatchWork& work, bool trains, Barrier* barrier) const {
  if (can_begin(work, trains)) return 0;
  if (barrier == nullptr) throw Error("a pipeline on one device would wait for itself");
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kSpinTime{100};
  constexpr std::chrono::nanoseconds kSleep = std::chrono::microseconds(20);
  // As in a barrier, a sleep counts as at most some of its length, so that a stopped process (Ctrl-Z) does not time
  // out.
  constexpr auto kMost = 50 * kSleep;
  std::chrono::nanoseconds waited{};
  while (!can_begin(work, trains)) {
    barrier->throw_if_aborted();
    const auto start = Clock::now();
    if (waited < kSpinTime) {
      for (int i = 0; i < 100; ++i) relax();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
    waited += std::min<std::chrono::nanoseconds>(kMost, Clock::now() - start);
    if (barrier->timeout() == std::chrono::nanoseconds(0) || waited < barrier->timeout()) continue;
    barrier->abort(fmt::format(
        "stage {} waited {:g} seconds for microbatch {} of replica {}; another stage is stuck, or "
        "strategy.communication.timeout_seconds is too short",
        work.stage + 1, std::chrono::duration<double>(barrier->timeout()).count(), work.microbatch, work.replica));
  }
  return std::chrono::duration<double>(waited).count();
}

void PipelineProgress::finished(const MicrobatchWork& work, int model) {
  Done& of = done_[number(work.replica, work.stage, model)];
  const bool is_last = work.stage + 1 == mesh_.stages;
  if (work.backward || is_last) of.backward.store(work.microbatch + 1, std::memory_order_release);
  if (!work.backward) of.forward.store(work.microbatch + 1, std::memory_order_release);
}

void PipelineProgress::restart(std::span<const StagePlace> stages) {
  for (const auto& [replica, stage, model] : stages) {
    Done& of = done_[number(replica, stage, model)];
    of.forward.store(0, std::memory_order_relaxed);
    of.backward.store(0, std::memory_order_relaxed);
  }
}

}  // namespace mirrortrain
