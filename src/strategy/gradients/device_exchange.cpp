#include "strategy/gradients/device_exchange.h"

#include "strategy/variables/gradient_scales.h"

namespace mirrortrain {

DeviceExchange::DeviceExchange(Device& device, const Mirror& mirror, const StepKernels& kernels,
                               Communicator& communicator, std::uint64_t bytes_per_pack)
    : mirror_(mirror),
      kernels_(kernels),
      communicator_(communicator),
      packs_(mirror.variables, bytes_per_pack),
      numbers_(device.allocate(static_cast<std::size_t>(communicator.size()) * kShardGrain * sizeof(double))),
      sources_(mirror.replicas.numbers.size()),
      full_(device.make_event()),
      done_(device.make_event()),
      stream_(device.make_stream()) {}

void DeviceExchange::reduce(Stream& compute, std::size_t index, std::int64_t examples) {
  for (std::size_t r = 0; r < sources_.size(); ++r) {
    sources_[r] = {
        packs_.gradient(index, static_cast<int>(r)),
        gradient_scale(packs_.aggregation(index), mirror_.replicas.numbers[r], examples, mirror_.replicas.all)};
  }
  compute.record(*full_);
  stream_->wait(*full_);
  float* const sum = packs_.gradient(index, 0);
  const std::int64_t count = packs_[index].elements();
  if (sources_.size() > 1 || sources_[0].scale != 1) kernels_.sum_sources(*stream_, sources_, sum, 0, count);
  const Elements elements(std::span(sum, static_cast<std::size_t>(count)));
  communicator_.all_reduce(*stream_, elements.named(packs_.name(index)));
}

void DeviceExchange::finish(Stream& compute) {
  stream_->record(*done_);
  compute.wait(*done_);
}

void DeviceExchange::all_reduce(Stream& compute, float* elements, std::int64_t count, std::string_view what) {
  communicator_.all_reduce(compute, Elements(std::span(elements, static_cast<std::size_t>(count))).named(what));
}

void DeviceExchange::sum_number(Stream& compute, double* number, std::string_view what) {
  const std::span<double> numbers(numbers_.as<double>(), numbers_.bytes() / sizeof(double));
  const Shard shard = shard_of(numbers.size(), communicator_.rank(), communicator_.size());
  auto* const own = reinterpret_cast<std::byte*>(&numbers[shard.begin]);
  compute.zero(own, shard.size() * sizeof(double));
  compute.copy(own, reinterpret_cast<const std::byte*>(number), sizeof(double));
  communicator_.all_gather(compute, Elements(numbers).named(what));
  kernels_.sum_numbers(compute, numbers.data(), static_cast<std::int64_t>(numbers.size()), 1, true, number);
}

}  // namespace mirrortrain
