#pragma once

#include <thread>
#include <vector>

#include "collective/thread_group.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {

/// Calls body(communicator, stream) on one thread per rank, each with a CPU's stream, and returns when all are done.
template <class Body>
void run_ranks(const testing::ThreadGroup& group, const Body& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < group.size(); ++rank) {
    threads.emplace_back([&, rank] {
      InlineStream stream;
      body(group.communicator(rank), stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <class Body>
void run_ranks(int size, const Body& body) {
  run_ranks(testing::ThreadGroup(size), body);
}

}  // namespace mirrortrain
