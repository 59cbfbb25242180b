#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "collective/forwarding_rank.h"
#include "collective/thread_group.h"
#include "error_text.h"
#include "strategy/reduction/memory_groups.h"
#include "train/training.h"

namespace mirrortrain::testing {

/// A rank whose gathers of weights take longer, as over a slow network.
class SlowGathers : public ForwardingRank {
 public:
  using ForwardingRank::ForwardingRank;
  bool travels() const override { return rank_.travels(); }
  Buffer allocate(std::size_t bytes) override { return rank_.allocate(bytes); }
  void all_gather(Stream& stream, Elements elements) override {
    if (elements.what.starts_with("weights of ")) {
      stream.call([](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }, nullptr);
    }
    rank_.all_gather(stream, elements);
  }
};

/// Groups of the workers that are threads here, created when a worker first asks for one.
class ThreadGroups {
 public:
  explicit ThreadGroups(int workers, bool gathers_slowly = false)
      : gathers_slowly_(gathers_slowly), all_(static_cast<std::size_t>(workers)) {
    std::iota(all_.begin(), all_.end(), 0);
  }
  int workers() const { return static_cast<int>(all_.size()); }
  /// The rank of `worker` in the group of all, or of `members`. `purpose`: those that differ in it have different
  /// groups.
  Communicator& rank_of(int worker) { return rank_of(worker, all_); }
  Communicator& rank_of(int worker, std::span<const int> members, int purpose = 0) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<ThreadGroup>& group = groups_[{purpose, {members.begin(), members.end()}}];
    if (!group) group = std::make_unique<ThreadGroup>(static_cast<int>(members.size()));
    Communicator& rank = group->communicator(static_cast<int>(std::ranges::find(members, worker) - members.begin()));
    return gathers_slowly_ ? *slow_.emplace_back(std::make_unique<SlowGathers>(rank)) : rank;
  }

 private:
  const bool gathers_slowly_;
  std::vector<int> all_;
  std::mutex mutex_;
  std::map<std::pair<int, std::vector<int>>, std::unique_ptr<ThreadGroup>> groups_;
  std::vector<std::unique_ptr<SlowGathers>> slow_;
};

/// A machine, this one unless another is given, as one worker of several.
inline Hardware as_worker(int worker, ThreadGroups& groups, Hardware hardware = this_hardware()) {
  hardware.cluster = {groups.workers(), worker};
  hardware.communicators = [worker, &groups](const Topology& topology, const StrategyOptions&, const ReductionChoice&,
                                             const Backend&, std::span<Device* const>) {
    const auto along = [&](ops::Axis axis) {
      return communicators_along(axis, topology, [&](const MemoryGroup& of) -> Communicators {
        return {nullptr, {&groups.rank_of(worker, of.memories)}};
      });
    };
    RunCommunicators made{along(ops::Axis::kData), along(ops::Axis::kModel), &groups.rank_of(worker)};
    made.stages = stage_communicators(topology, [&](const StagePair& pair) -> std::shared_ptr<Communicator> {
      const std::vector<int> both = {pair.lower, pair.lower + 1};
      if (std::ranges::count(both, worker) == 0) return nullptr;
      return {std::shared_ptr<void>(), &groups.rank_of(worker, both, 1 + 2 * pair.model + (pair.is_up ? 1 : 0))};
    });
    return made;
  };
  return hardware;
}

/// Calls body(worker, training) on a thread for each worker, which has a `machine` of its own. A worker that fails ends
/// the others; its error is returned.
template <class Body>
std::string run_workers(int workers, const char* configuration, const std::vector<std::string>& overrides,
                        const Body& body, const std::function<Hardware()>& machine = this_hardware,
                        bool gathers_slowly = false) {
  ThreadGroups groups(workers, gathers_slowly);
  std::vector<std::string> messages(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      std::string& message = messages[static_cast<std::size_t>(worker)];
      message = error_text([&] {
        Training training(configuration, overrides, as_worker(worker, groups, machine()));
        try {
          body(worker, training);
        } catch (const Error& error) {
          training.strategy->abort(error.what());  // as a run does
          throw;
        }
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& message : messages) {
    if (message != "no error") return message;
  }
  return "no error";
}

inline std::string replicas_on_cpus(int replicas, const std::string& more = "",
                                    const char* type = "multi_worker_mirrored") {
  std::string devices = "cpu:0";
  for (int i = 1; i < replicas; ++i) devices += fmt::format(",cpu:{}", i);
  return fmt::format("strategy={{type: {}, devices: [{}], threads_per_replica: 1{}}}", type, devices, more);
}

}  // namespace mirrortrain::testing
