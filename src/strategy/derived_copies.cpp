#include "strategy/derived_copies.h"

namespace mirrortrain {

std::byte* DerivedCopies::request(const TensorView& canonical, const DerivedForm& form) {
  Copy*& copy = by_key_[{canonical.data, form.key}];
  if (copy == nullptr) copy = &copies_.emplace_back(form, canonical, device_->allocate(form.bytes));
  return copy->memory.data();
}

void DerivedCopies::refresh(Stream& stream, int lane, int lanes) {
  for (std::size_t i = static_cast<std::size_t>(lane); i < copies_.size(); i += static_cast<std::size_t>(lanes)) {
    copies_[i].form.refresh(stream, copies_[i].canonical, copies_[i].memory.data());
  }
}

std::size_t DerivedCopies::bytes() const {
  std::size_t total = 0;
  for (const Copy& copy : copies_) total += copy.memory.bytes();
  return total;
}

}  // namespace mirrortrain
