#include "simulated_gpu/threaded_device.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/ordering.h"

using namespace mirrortrain;
using std::chrono::microseconds;

namespace {

constexpr DeviceId kGpu{DeviceId::Kind::kCuda, 3};

std::unique_ptr<Device> device(std::uint64_t seed = 1) { return make_threaded_device(kGpu, seed, microseconds(100)); }

void wait_for(void* open) {
  while (!static_cast<std::atomic<bool>*>(open)->load()) std::this_thread::yield();
}

void set(void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }

}  // namespace

TEST_CASE("threaded streams keep the order that events ask for, whatever the delays") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) testing::check_pipeline(*device(seed));
}

TEST_CASE("threaded streams copy and clear any number of bytes") { testing::check_copies(*device()); }

TEST_CASE("a threaded stream works later than it is told, in order") {
  const auto gpu = device();
  CHECK(gpu->id() == kGpu);
  std::atomic<bool> open = false;
  std::vector<int> order;
  const auto stream = gpu->make_stream();
  stream->call(wait_for, &open);
  for (int i = 0; i < 3; ++i) {
    stream->call([](void* list) { static_cast<std::vector<int>*>(list)->push_back(1); }, &order);
    stream->call([](void* list) { static_cast<std::vector<int>*>(list)->push_back(2); }, &order);
  }
  CHECK(order.empty());
  open = true;
  stream->synchronize();
  CHECK(order == std::vector{1, 2, 1, 2, 1, 2});
}

TEST_CASE("without an event one threaded stream overtakes another; with one it does not") {
  const auto gpu = device();
  std::atomic<bool> open = false, overtook = false, waited = false;
  const auto event = gpu->make_event();
  const auto first = gpu->make_stream(), free = gpu->make_stream(), waiting = gpu->make_stream();
  first->call(wait_for, &open);
  first->record(*event);
  free->call(set, &overtook);
  waiting->wait(*event);
  waiting->call(set, &waited);
  free->synchronize();
  CHECK(overtook);
  CHECK_FALSE(waited);
  open = true;
  waiting->synchronize();
  CHECK(waited);
}

TEST_CASE("a wait is for the place recorded last before it, and for nothing where there is none") {
  const auto gpu = device();
  std::atomic<bool> open = false, reached = false;
  const auto event = gpu->make_event(), never = gpu->make_event();
  const auto first = gpu->make_stream(), second = gpu->make_stream();
  first->record(*event);
  second->wait(*event);
  second->wait(*never);
  first->call(wait_for, &open);
  first->record(*event);  // after the wait, so not what it is for
  second->call(set, &reached);
  second->synchronize();
  CHECK(reached);
  open = true;
}

TEST_CASE("a threaded stream ends with its work done") {
  std::atomic<bool> done = false;
  device()->make_stream()->call(set, &done);
  CHECK(done);
}

TEST_CASE("what a capture forbids is refused on a simulated GPU, and what comes after it is done") {
  const auto gpu = device();
  const auto stream = gpu->make_stream(), other = gpu->make_stream();
  const auto event = gpu->make_event();
  const auto refused = [&](const std::function<void()>& body) {
    CHECK_THROWS_WITH_AS(stream->capture(body), doctest::Contains("while a stream of the simulated GPU captures"),
                         Error);
  };
  refused([&] { stream->record(*event); });
  refused([&] { stream->wait(*event); });
  refused([&] { stream->synchronize(); });
  refused([&] { other->synchronize(); });
  refused([&] { event->synchronize(); });
  refused([&] { gpu->allocate(16); });
  refused([&] { gpu->allocate_host(16); });
  refused([&] { other->capture([] {}); });
  std::byte from{7}, to{0};
  stream->capture([&] { stream->copy(&to, &from, 1); })->enqueue(*stream);
  stream->synchronize();
  CHECK(to == from);
}
