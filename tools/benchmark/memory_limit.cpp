// What two threads can read from memory and write back at best, in the access pattern of a sum in place over two ranks,
// but without the sum:
//
//   memory_limit [BYTES = 67108864] [ROUNDS = 15]
//
// There are three buffers of BYTES. Each thread fills one of two, as a rank does; then it reads its halves of both and
// writes them back, every element on its own, which moves 4 x BYTES through memory. The same halves taken one buffer
// after the other, and STREAM's triad (2 streams read, 1 written and, because plain stores read a line before they
// write it, 4 moved), are beside it. Prints {"update": GB/s, "update_in_turn": GB/s, "triad": GB/s}, medians, in bytes
// moved.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "base/usable_cores.h"
#include "device/cpu/cpu_device.h"

namespace {

using Clock = std::chrono::steady_clock;
using mirrortrain::Buffer;
using Floats = std::span<float>;

void update(Floats a, Floats b, Floats) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] += 1.0f;
    b[i] += 1.0f;
  }
}

void update_in_turn(Floats a, Floats b, Floats) {
  for (float& element : a) element += 1.0f;
  for (float& element : b) element += 1.0f;
}

void triad(Floats a, Floats b, Floats c) {
  for (std::size_t i = 0; i < a.size(); ++i) c[i] = a[i] + 3.0f * b[i];
}

struct Loop {
  const char* name;
  void (*run)(Floats, Floats, Floats);
  std::vector<double> seconds = {};
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{64} << 20;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  const std::size_t count = bytes / sizeof(float);
  std::array<Buffer, 3> buffers;
  std::array<Loop, 3> loops = {{{"update", update}, {"update_in_turn", update_in_turn}, {"triad", triad}}};
  std::array<double, 2> seconds{};
  std::barrier barrier(2);

  const auto run_thread = [&](int thread) {
    const auto part = [&](const Buffer& buffer) {
      return Floats(buffer.as<float>(), count).subspan(count / 2 * static_cast<std::size_t>(thread), count / 2);
    };
    const auto device =
        mirrortrain::make_cpu_device(thread, 1, {mirrortrain::usable_cores().at(static_cast<std::size_t>(thread))});
    device->enter_thread();
    if (thread == 0) {
      for (Buffer& buffer : buffers) buffer = device->allocate(bytes);
    }
    barrier.arrive_and_wait();
    for (int round = 0; round < rounds; ++round) {
      for (Loop& loop : loops) {
        const Floats mine(buffers[static_cast<std::size_t>(thread)].as<float>(), count);
        for (std::size_t i = 0; i < count; ++i) mine[i] = static_cast<float>(i % 251);
        barrier.arrive_and_wait();
        const auto start = Clock::now();
        loop.run(part(buffers[0]), part(buffers[1]), part(buffers[2]));
        seconds[static_cast<std::size_t>(thread)] = std::chrono::duration<double>(Clock::now() - start).count();
        barrier.arrive_and_wait();
        if (thread == 0) loop.seconds.push_back(std::max(seconds[0], seconds[1]));
        barrier.arrive_and_wait();
      }
    }
  };
  std::thread other(run_thread, 1);
  run_thread(0);
  other.join();

  std::printf("{");
  for (Loop& loop : loops) {
    std::nth_element(loop.seconds.begin(), loop.seconds.begin() + rounds / 2, loop.seconds.end());
    const double speed = 4 * static_cast<double>(bytes) / loop.seconds[static_cast<std::size_t>(rounds / 2)] / 1e9;
    std::printf("%s\"%s\": %.1f", &loop == &loops[0] ? "" : ", ", loop.name, speed);
  }
  std::printf("}\n");
}
