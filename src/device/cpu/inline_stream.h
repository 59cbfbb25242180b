#pragma once

#include <cstring>

#include "device/cpu/host_stream.h"

namespace mirrortrain {

/// A CPU's stream: the work is done by the time a call returns, so there is nothing to wait for.
class InlineStream : public HostStream {
 public:
  void run(std::function<void()> work) override { work(); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void zero(std::byte* to, std::size_t bytes) override {
    if (bytes > 0) std::memset(to, 0, bytes);
  }
  void call(void (*function)(void*), void* argument) override { function(argument); }
  void record(Event&) override {}
  void wait(const Event&) override {}
  void synchronize() override {}
};

}  // namespace mirrortrain
