#pragma once

#include <fmt/format.h>

#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "collective/thread_group.h"
#include "error_text.h"
#include "train/training.h"

namespace mirrortrain::testing {

/// This machine as one worker of several.
inline Hardware as_worker(int worker, const ThreadGroup& group) {
  Hardware hardware = this_hardware();
  hardware.cluster = {group.size(), worker};
  hardware.communicators = [worker, &group](const Topology&, const StrategyOptions&, const ReductionChoice&,
                                            const Backend&, std::span<Device* const>) {
    Communicator& rank = group.communicator(worker);
    return RunCommunicators{{nullptr, {&rank}}, &rank};
  };
  return hardware;
}

/// Calls body(worker, training) on a thread for each worker. A worker that fails ends the others; its error is
/// returned.
template <class Body>
std::string run_workers(int workers, const char* configuration, const std::vector<std::string>& overrides,
                        const Body& body) {
  const ThreadGroup group(workers);
  std::vector<std::string> messages(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      std::string& message = messages[static_cast<std::size_t>(worker)];
      message = error_text([&] {
        Training training(configuration, overrides, as_worker(worker, group));
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
