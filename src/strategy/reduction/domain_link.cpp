#include "strategy/reduction/domain_link.h"

namespace mirrortrain {

DomainLink::DomainLink(Device& device, const StepKernels& kernels, Communicator& communicator)
    : kernels_(kernels),
      communicator_(communicator),
      numbers_(device.allocate(static_cast<std::size_t>(communicator.size()) * kShardGrain * sizeof(double))) {}

void DomainLink::sum_number(Stream& stream, double* number, std::string_view what) const {
  const std::span<double> numbers(numbers_.as<double>(), numbers_.bytes() / sizeof(double));
  auto* const own =
      reinterpret_cast<std::byte*>(&numbers[static_cast<std::size_t>(communicator_.rank()) * kShardGrain]);
  stream.zero(own, kShardGrain * sizeof(double));
  stream.copy(own, reinterpret_cast<const std::byte*>(number), sizeof(double));
  communicator_.all_gather(stream, {numbers, what});
  kernels_.sum_numbers(stream, numbers.data(), static_cast<std::int64_t>(numbers.size()), 1, true, number);
}

}  // namespace mirrortrain
