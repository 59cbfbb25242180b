// The order in which the stages of a pipeline compute microbatches.
#include "strategy/steps/pipeline.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

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
  const int stages = mesh.stages * mesh.replicas();
  for (int i = 0; i < stages; ++i) {
    all[static_cast<std::size_t>(i * lanes / stages)].stages.push_back({i % mesh.replicas(), i / mesh.replicas()});
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

TEST_CASE("no order of a pipeline waits for itself, on any number of lanes") {
  for (int stages = 2; stages <= 5; ++stages) {
    for (int microbatches = 1; microbatches <= 7; ++microbatches) {
      for (int replicas = 1; replicas <= 3; ++replicas) {
        const Mesh mesh{replicas * microbatches, 1, microbatches, stages};
        for (int lanes = 1; lanes <= stages * replicas; ++lanes) {
          if (stages * replicas % lanes != 0) continue;
          for (const bool trains : {true, false}) {
            auto schedule = schedules(mesh, lanes, trains);
            PipelineProgress progress(mesh);
            std::size_t left = 0;
            for (const auto& list : schedule) left += list.size();
            CHECK(left == static_cast<std::size_t>(replicas * microbatches) *
                              static_cast<std::size_t>(trains ? 2 * stages - 1 : stages));
            std::set<std::pair<int, int>> between;  // microbatches of replicas, forward and backward
            std::size_t most = 0;
            for (bool any = true; any;) {
              any = false;
              for (auto& list : schedule) {
                if (list.empty() || !progress.can_begin(list.front(), trains)) continue;
                const MicrobatchWork work = list.front();
                list.erase(list.begin());
                if (work.stage == 0 && !work.backward) between.emplace(work.replica, work.microbatch);
                most = std::max(most, between.size());
                if (work.stage == (trains ? 0 : stages - 1) && work.backward == trains) {
                  between.erase({work.replica, work.microbatch});
                }
                progress.finished(work);
                --left;
                any = true;
              }
            }
            CHECK(left == 0);
            CHECK(most <= static_cast<std::size_t>(replicas * mesh.in_flight()));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace mirrortrain
