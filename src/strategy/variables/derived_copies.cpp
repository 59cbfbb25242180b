#include "strategy/variables/derived_copies.h"

#include <algorithm>

namespace mirrortrain {
namespace {

bool is_within(const TensorView& canonical, std::span<const float> masters) {
  const auto* const first = reinterpret_cast<const float*>(canonical.data);
  return first >= masters.data() && first < masters.data() + masters.size();
}

}  // namespace

std::byte* DerivedCopies::refreshed_by_update(const std::byte* canonical, const std::string& key) {
  const auto found = by_key_.find({canonical, key});
  if (found == by_key_.end()) return nullptr;
  found->second->is_by_update = true;
  return found->second->place;
}

void DerivedCopies::hold_back(std::span<const float> masters) { held_back_.push_back(masters); }

std::byte* DerivedCopies::request(const TensorView& canonical, const DerivedForm& form, bool changes) {
  Copy*& copy = by_key_[{canonical.data, form.key}];
  if (copy != nullptr) return copy->place;
  copy = &copies_.emplace_back(form, canonical);
  copy->changes = changes;
  copy->is_held_back = std::ranges::any_of(held_back_, [&](const auto& held) { return is_within(canonical, held); });
  if (rounding_ != nullptr && form.is_rounded) {
    copy->place = reinterpret_cast<std::byte*>(rounding_->rounded(canonical.data));
  }
  if (copy->place == nullptr) {
    copy->memory = device_->allocate(form.bytes);
    copy->place = copy->memory.data();
  }
  return copy->place;
}

void DerivedCopies::refresh(Stream& stream, int lane, int lanes, bool updated) {
  for (std::size_t i = static_cast<std::size_t>(lane); i < copies_.size(); i += static_cast<std::size_t>(lanes)) {
    const Copy& copy = copies_[i];
    const bool by_update = copy.memory.data() == nullptr || copy.is_by_update;
    if (!updated || (copy.changes && !by_update && !copy.is_held_back))
      copy.form.refresh(stream, copy.canonical, copy.place);
  }
}

void DerivedCopies::refresh_of(std::span<const float> masters, Stream& stream, int lane, int lanes) {
  for (std::size_t i = static_cast<std::size_t>(lane); i < copies_.size(); i += static_cast<std::size_t>(lanes)) {
    const Copy& copy = copies_[i];
    if (copy.is_held_back && is_within(copy.canonical, masters)) {
      copy.form.refresh(stream, copy.canonical, copy.place);
    }
  }
}

std::size_t DerivedCopies::bytes() const {
  std::size_t total = 0;
  for (const Copy& copy : copies_) total += copy.memory.bytes();
  return total;
}

}  // namespace mirrortrain
