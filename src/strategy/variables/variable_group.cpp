#include "strategy/variables/variable_group.h"

#include <algorithm>
#include <numeric>

namespace mirrortrain {
namespace {

std::int64_t end_of_sums(const scalar::NormedSegment& variable) { return variable.first_sum + variable.sums(); }

/// Copies the table to the device's memory.
template <class Item>
Buffer on_device(const std::vector<Item>& table, Device& device) {
  Buffer copy = device.allocate(std::span(table).size_bytes());
  const std::unique_ptr<Stream> stream = device.make_stream();
  stream->copy(copy.data(), std::as_bytes(std::span(table)).data(), copy.bytes());
  stream->synchronize();
  return copy;
}

/// For each replica, the number of its copy: of `keys`, those that are equal share one.
std::vector<std::size_t> numbered(const std::vector<int>& keys) {
  std::vector<int> known;
  std::vector<std::size_t> numbers;
  for (const int key : keys) {
    const auto found = std::ranges::find(known, key);
    numbers.push_back(static_cast<std::size_t>(found - known.begin()));
    if (found == known.end()) known.push_back(key);
  }
  return numbers;
}

}  // namespace

std::int64_t with_padding(std::int64_t elements) {
  constexpr std::int64_t kLine = 64 / sizeof(float);
  return (elements + kLine - 1) / kLine * kLine;
}

std::int64_t VariableGroup::add(const std::vector<std::int64_t>& of_parts, float l1, float l2, bool stores_gradient) {
  const std::int64_t first = elements_, elements = of_parts.front();
  variables_.push_back({first, first + elements, variables_.empty() ? 0 : end_of_sums(variables_.back())});
  if (l1 != 0 || l2 != 0) regularized_.push_back({first, of_parts, l1, l2});
  elements_ += with_padding(elements);
  if (stores_gradient) gradient_elements_ = elements_;
  return first;
}

void VariableGroup::allocate(const GroupMemory& memory, Device& device) {
  device_ = &device;
  const auto bytes = static_cast<std::size_t>(elements_) * sizeof(float);
  const std::size_t chunk_bytes = static_cast<std::size_t>(chunks()) * sizeof(double);
  const auto gradient_bytes = static_cast<std::size_t>(gradient_elements_) * sizeof(float);
  if (memory.adds_gradients != nullptr && shared()) {
    gradients_.push_back(memory.adds_gradients->allocate(gradient_bytes));
    if (gradients_[0].data() == nullptr) gradients_.clear();  // allocated separately then
  }
  parts_ = memory.parts;
  std::vector<int> own = parts_;
  std::iota(own.begin(), own.end(), 0);
  copy_of_ = shared() && !divided_ ? std::vector<std::size_t>(parts_.size(), 0) : numbered(shared() ? parts_ : own);
  while (gradients_.size() < parts_.size()) gradients_.push_back(device.allocate(gradient_bytes));
  if (shared() && memory.compresses) residual_ = device.allocate(bytes);
  if (memory.measures) normed_ = on_device(variables_, device);
  const std::size_t normed = memory.measures ? variables_.size() : 0;
  const auto sums = static_cast<std::size_t>(normed > 0 ? end_of_sums(variables_.back()) : 0);
  copies_.resize(std::ranges::max(copy_of_) + 1);
  for (Copy& copy : copies_) {
    copy.values = device.allocate(bytes);
    for (int slot = 0; slot < memory.slots; ++slot) copy.slots.push_back(device.allocate(bytes));
    copy.regularization = device.allocate(is_regularized() ? chunk_bytes : 0);
    copy.accumulated = device.allocate(memory.keeps_gradients ? bytes : 0);
    copy.squares = device.allocate(memory.keeps_gradients ? chunk_bytes : 0);
    copy.norms = device.allocate(sums * sizeof(scalar::NormSums));
    copy.ratios = device.allocate(normed * sizeof(float));

    const int first_user = first_replica(static_cast<int>(&copy - copies_.data()));
    const std::size_t part = divided_ ? static_cast<std::size_t>(parts_[static_cast<std::size_t>(first_user)]) : 0;
    std::vector<scalar::RegularizedSegment> segments;
    for (const auto& [first, elements, l1, l2] : regularized_) {
      segments.push_back({first, first + elements[part], l1, l2});
    }
    copy.segments = on_device(segments, device);
    copy.view.regularized = {copy.segments.as<scalar::RegularizedSegment>(), segments.size()};
    copy.view.traits = traits_;
    copy.view.master = copy.values.as<float>();
    for (std::size_t slot = 0; slot < copy.slots.size(); ++slot) copy.view.slots[slot] = copy.slots[slot].as<float>();
    if (traits_.averages && !copy.slots.empty()) copy.view.average = copy.slots.back().as<float>();
    copy.view.normed = {normed_.as<scalar::NormedSegment>(), normed};
    copy.view.norms = copy.norms.as<scalar::NormSums>();
    copy.view.ratios = copy.ratios.as<float>();
    copy.view.regularization = copy.regularization.as<double>();
    copy.view.accumulated = copy.accumulated.as<float>();
    copy.view.squares = copy.squares.as<double>();
  }
}

bfloat16* VariableGroup::rounded(int replica) {
  Copy& of_replica = copies_[copy_of_[static_cast<std::size_t>(replica)]];
  if (of_replica.rounded.data() == nullptr) {
    of_replica.rounded = device_->allocate(static_cast<std::size_t>(elements_) * sizeof(bfloat16));
    of_replica.view.rounded = of_replica.rounded.as<bfloat16>();
  }
  return of_replica.view.rounded;
}

int VariableGroup::first_replica(int copy) const {
  return static_cast<int>(std::ranges::find(copy_of_, static_cast<std::size_t>(copy)) - copy_of_.begin());
}

std::vector<int> VariableGroup::summed_replicas(int copy) const {
  std::vector<int> replicas;
  const int part = parts_[static_cast<std::size_t>(first_replica(copy))];
  for (std::size_t r = 0; r < parts_.size(); ++r) {
    if (copy_of_[r] == static_cast<std::size_t>(copy) && parts_[r] == part) replicas.push_back(static_cast<int>(r));
  }
  return replicas;
}

std::size_t VariableGroup::bytes() const {
  std::size_t bytes = normed_.bytes() + residual_.bytes();
  for (const Buffer& gradient : gradients_) bytes += gradient.bytes();
  for (const Copy& copy : copies_) {
    bytes += copy.segments.bytes() + copy.values.bytes() + copy.accumulated.bytes() + copy.regularization.bytes() +
             copy.squares.bytes() + copy.norms.bytes() + copy.ratios.bytes() + copy.rounded.bytes();
    for (const Buffer& slot : copy.slots) bytes += slot.bytes();
  }
  return bytes;
}

}  // namespace mirrortrain
