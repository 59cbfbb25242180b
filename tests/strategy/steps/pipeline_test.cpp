// The order in which the stages of a pipeline compute microbatches.
#include "strategy/steps/pipeline.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace mirrortrain {
namespace {

std::string text(const std::vector<MicrobatchWork>& list) {
  std::string all;
  for (const auto& [replica, stage, microbatch, backward] : list) {
    all += fmt::format("{}{}{}", all.empty() ? "" : " ", backward ? "B" : "F", microbatch);
  }
  return all;
}

/// Lanes with the stages of replicas in turn, as topologies have them.
std::vector<LanePlace> lanes_of(const Mesh& mesh, int lanes) {
  std::vector<LanePlace> all(static_cast<std::size_t>(lanes));
  const int row = mesh.replicas() * mesh.model, stages = mesh.stages * row;
  for (int i = 0; i < stages; ++i) {
    all[static_cast<std::size_t>(i * lanes / stages)].stages.push_back({i % row / mesh.model, i / row, i % mesh.model});
  }
  return all;
}

std::vector<std::vector<MicrobatchWork>> schedules(const Mesh& mesh, int lanes, bool trains) {
  std::vector<std::vector<MicrobatchWork>> all;
  for (const LanePlace& lane : lanes_of(mesh, lanes)) all.push_back(pipeline_schedule(mesh, lane.stages, trains));
  return all;
}

TEST_CASE("each stage computes one microbatch forward and one backward, once the later ones are busy") {
  const Mesh mesh{5, 1, 5, 3};
  const auto schedule = schedules(mesh, 3, true);
  CHECK(text(schedule[0]) == "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4");
  CHECK(text(schedule[1]) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4");
  CHECK(text(schedule[2]) == "F0 F1 F2 F3 F4");  // the last one computes both at once
}

/// Runs the lanes' lists until none goes on, a stage that several lanes divide once all have reached it; returns how
/// much is left, and checks that few microbatches are computed at a time.
std::size_t left_of(const Mesh& mesh, int lanes, bool trains) {
  auto schedule = schedules(mesh, lanes, trains);
  const std::vector<LanePlace> places = lanes_of(mesh, lanes);
  PipelineProgress progress(mesh, places, false);
  std::size_t left = 0;
  for (const auto& list : schedule) left += list.size();
  std::set<std::pair<int, int>> between;  // microbatches of replicas, forward and backward
  std::size_t most = 0;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t lane = 0; lane < schedule.size(); ++lane) {
      if (schedule[lane].empty()) continue;
      const MicrobatchWork work = schedule[lane].front();
      std::vector<std::size_t> dividing;  // the stage
      for (std::size_t other = 0; other < schedule.size(); ++other) {
        const auto has = [&](const StagePlace& one) { return one.replica == work.replica && one.stage == work.stage; };
        if (std::ranges::any_of(places[other].stages, has)) dividing.push_back(other);
      }
      const auto is_at_it = [&](std::size_t other) {
        return !schedule[other].empty() && schedule[other].front() == work && progress.can_begin(work, trains);
      };
      if (!std::ranges::all_of(dividing, is_at_it)) continue;
      CHECK((progress.barrier_of(work.replica, work.stage) != nullptr) == (dividing.size() > 1));
      if (work.stage == 0 && !work.backward) between.emplace(work.replica, work.microbatch);
      most = std::max(most, between.size());
      if (work.stage == (trains ? 0 : mesh.stages - 1) && work.backward == trains) {
        between.erase({work.replica, work.microbatch});
      }
      for (const std::size_t other : dividing) {
        schedule[other].erase(schedule[other].begin());
        --left;
      }
      for (int model = 0; model < mesh.model; ++model) progress.finished(work, model);
      any = true;
    }
  }
  CHECK(most <= static_cast<std::size_t>(mesh.replicas() * mesh.in_flight()));
  return left;
}

TEST_CASE("no order of a pipeline waits for itself, on any number of lanes") {
  for (int stages = 2; stages <= 5; ++stages) {
    for (int microbatches = 1; microbatches <= 7; ++microbatches) {
      for (int replicas = 1; replicas <= 3; ++replicas) {
        for (int model = 1; model <= 3; ++model) {
          const Mesh mesh{replicas * microbatches, model, microbatches, stages};
          const int all = stages * replicas * model;
          for (int lanes = 1; lanes <= all; ++lanes) {
            if (all % lanes != 0) continue;
            CHECK(left_of(mesh, lanes, true) == 0);
            CHECK(left_of(mesh, lanes, false) == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("every stage of every replica computes every microbatch once") {
  for (const bool trains : {true, false}) {
    const Mesh mesh{2 * 5, 1, 5, 3};
    std::size_t all = 0;
    for (const auto& list : schedules(mesh, 3, trains)) all += list.size();
    CHECK(all == 10u * (trains ? 2 * 3 - 1 : 3));
  }
}

}  // namespace
}  // namespace mirrortrain
