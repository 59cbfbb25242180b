#include "strategy/variables/variable_group.h"

namespace mirrortrain {
std::int64_t with_padding(std::int64_t elements) {
  constexpr std::int64_t kLine = 64 / sizeof(float);
  return (elements + kLine - 1) / kLine * kLine;
}

std::int64_t VariableGroup::add(std::int64_t elements, float l1, float l2, bool stores_gradient) {
  const std::int64_t first = elements_;
  if (l1 != 0 || l2 != 0) regularized_.push_back({first, first + elements, l1, l2});
  elements_ += with_padding(elements);
  if (stores_gradient) gradient_elements_ = elements_;
  return first;
}

void VariableGroup::allocate(int replicas, int slots, bool accumulates, Device& device) {
  device_ = &device;
  const auto bytes = static_cast<std::size_t>(elements_) * sizeof(float);
  const std::size_t chunk_bytes = static_cast<std::size_t>(chunks()) * sizeof(double);
  const auto gradient_bytes = static_cast<std::size_t>(gradient_elements_) * sizeof(float);
  for (int r = 0; r < replicas; ++r) gradients_.push_back(device.allocate(gradient_bytes));
  segments_ = device.allocate(std::span(regularized_).size_bytes());
  const std::unique_ptr<Stream> stream = device.make_stream();
  stream->copy(segments_.data(), std::as_bytes(std::span(regularized_)).data(), segments_.bytes());
  stream->synchronize();
  copies_.resize(shared() ? 1 : static_cast<std::size_t>(replicas));
  for (Copy& copy : copies_) {
    copy.values = device.allocate(bytes);
    for (int slot = 0; slot < slots; ++slot) copy.slots.push_back(device.allocate(bytes));
    copy.regularization = device.allocate(is_regularized() ? chunk_bytes : 0);
    copy.accumulated = device.allocate(accumulates ? bytes : 0);
    copy.squares = device.allocate(accumulates ? chunk_bytes : 0);

    copy.view.regularized = {segments_.as<scalar::RegularizedSegment>(), regularized_.size()};
    copy.view.master = copy.values.as<float>();
    for (std::size_t slot = 0; slot < copy.slots.size(); ++slot) copy.view.slots[slot] = copy.slots[slot].as<float>();
    copy.view.regularization = copy.regularization.as<double>();
    copy.view.accumulated = copy.accumulated.as<float>();
    copy.view.squares = copy.squares.as<double>();
  }
}

bfloat16* VariableGroup::rounded(int replica) {
  Copy& of_replica = copies_[shared() ? 0 : static_cast<std::size_t>(replica)];
  if (of_replica.rounded.data() == nullptr) {
    of_replica.rounded = device_->allocate(static_cast<std::size_t>(elements_) * sizeof(bfloat16));
    of_replica.view.rounded = of_replica.rounded.as<bfloat16>();
  }
  return of_replica.view.rounded;
}

std::vector<std::span<std::byte>> VariableGroup::lasting(int replica) const {
  const Copy& of_replica = copy(replica);
  std::vector<std::span<std::byte>> parts;
  const auto add = [&](const Buffer& buffer) { parts.emplace_back(buffer.data(), buffer.bytes()); };
  add(of_replica.values);
  for (const Buffer& slot : of_replica.slots) add(slot);
  add(of_replica.accumulated);
  return parts;
}

std::size_t VariableGroup::bytes() const {
  std::size_t bytes = segments_.bytes();
  for (const Buffer& gradient : gradients_) bytes += gradient.bytes();
  for (const Copy& copy : copies_) {
    bytes += copy.values.bytes() + copy.accumulated.bytes() + copy.regularization.bytes() + copy.squares.bytes() +
             copy.rounded.bytes();
    for (const Buffer& slot : copy.slots) bytes += slot.bytes();
  }
  return bytes;
}

}  // namespace mirrortrain
