#pragma once

#include <memory>
#include <span>
#include <vector>

#include "strategy/gradients/device_exchange.h"
#include "strategy/variables/mirrors.h"

namespace mirrortrain {

/// The exchanges of all lanes, each lane with memory of its own.
class DeviceExchanges {
 public:
  /// `communicators`: one rank for each lane, in their order. `devices`: by lane. They, `mirrors` and `kernels` must
  /// outlive it.
  DeviceExchanges(Communicators communicators, std::span<Device* const> devices, const Mirrors& mirrors,
                  const StepKernels& kernels, std::uint64_t bytes_per_pack);

  const DeviceExchange& of_lane(int lane) const { return *exchanges_[static_cast<std::size_t>(lane)]; }
  DeviceExchange& of_lane(int lane) { return *exchanges_[static_cast<std::size_t>(lane)]; }

  /// Waits for what is enqueued to `streams`, the lanes'. Throws Error where lanes do not come together.
  void synchronize(std::span<Stream* const> streams);

  /// Where a lane failed, the others' streams may wait for it, and whoever destroys them would wait for ever.
  void abort(const char* reason);

 private:
  Communicators communicators_;
  std::vector<std::unique_ptr<DeviceExchange>> exchanges_;
};

}  // namespace mirrortrain
