#include "strategy/gradients/device_exchanges.h"

#include <exception>

namespace mirrortrain {

DeviceExchanges::DeviceExchanges(Communicators communicators, std::span<Device* const> devices, const Mirrors& mirrors,
                                 const StepKernels& kernels, std::uint64_t bytes_per_pack)
    : communicators_(std::move(communicators)) {
  for (std::size_t lane = 0; lane < devices.size(); ++lane) {
    exchanges_.push_back(std::make_unique<DeviceExchange>(*devices[lane], mirrors.of_lane(static_cast<int>(lane)),
                                                          kernels, *communicators_.ranks[lane], bytes_per_pack));
  }
}

void DeviceExchanges::synchronize(std::span<Stream* const> streams) {
  try {
    for (std::size_t lane = 0; lane < exchanges_.size(); ++lane) exchanges_[lane]->synchronize(*streams[lane]);
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

void DeviceExchanges::abort(const char* reason) {
  for (Communicator* const rank : communicators_.ranks) rank->abort(reason);
}

}  // namespace mirrortrain
