#include "strategy/reduction/gather_ahead.h"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "error_text.h"

namespace mirrortrain {
namespace {

/// A rank whose gathers end when the test lets them.
class HeldCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce(Stream&, Elements) override {}
  void all_gather(Stream& stream, Elements) override {
    stream.call(
        [](void* self) {
          auto& held = *static_cast<HeldCommunicator*>(self);
          held.begun = true;
          held.begun.notify_all();
          held.released.wait(false);
          held.ended = true;
        },
        this);
  }
  void all_to_all(Stream&, Elements, std::byte*) override {}
  void check() override {
    if (fails) throw Error("the other rank is gone");
  }
  void synchronize(Stream& stream) override { stream.synchronize(); }
  void abort(const std::string&) override {}

  std::atomic<bool> begun = false, released = false, ended = false;
  bool fails = false;
};

TEST_CASE("a gather ahead runs while its lane continues, and has ended when the lane needs it") {
  const std::unique_ptr<Device> device = make_cpu_device(0, 1, {});
  const std::unique_ptr<Stream> stream = device->make_stream();
  HeldCommunicator others;
  GatherAhead ahead(*device, true, others);
  DomainLane lane;
  lane.stream = stream.get();
  for (int round = 0; round < 3; ++round) {
    others.begun = others.released = others.ended = false;
    ahead.start(lane, [&](Stream& of_gather) { others.all_gather(of_gather, {}); });
    others.begun.wait(false);  // in the background: this thread is here
    CHECK_FALSE(others.ended);
    others.released = true;
    others.released.notify_all();
    ahead.finish(lane);
    CHECK(others.ended);
    ahead.finish(lane);  // there is none
  }
  others.fails = true;
  ahead.finish(lane);  // there is none
  ahead.start(lane, [](Stream&) {});
  CHECK(error_text([&] { ahead.finish(lane); }) == "the other rank is gone");
}

TEST_CASE("a gather is finished while those behind it run") {
  const std::unique_ptr<Device> device = make_cpu_device(0, 1, {});
  const std::unique_ptr<Stream> stream = device->make_stream();
  HeldCommunicator others;
  GatherAhead ahead(*device, true, others, 2);
  DomainLane lane;
  lane.stream = stream.get();
  for (int round = 0; round < 3; ++round) {
    others.begun = others.released = others.ended = false;
    ahead.start(
        lane, [](Stream&) {}, 1);
    ahead.start(
        lane, [&](Stream& of_gather) { others.all_gather(of_gather, {}); }, 0);
    ahead.finish(lane, 1);
    CHECK_FALSE(others.ended);
    others.released = true;
    others.released.notify_all();
    ahead.wait_on(*stream);
    CHECK(others.ended);
    ahead.finish(lane, 0);
  }
}

}  // namespace
}  // namespace mirrortrain
