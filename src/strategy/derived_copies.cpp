#include "strategy/derived_copies.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain {

std::byte* DerivedCopies::request(std::size_t variable_index, const DistributedVariable& variable,
                                  const DerivedForm& form) {
  if (variable.policy().copies_can_differ()) {
    throw Error(
        fmt::format("{}: a kernel wants a derived copy of a variable whose copies can differ", variable.name()));
  }
  Copy*& copy = by_key_[{variable_index, form.key}];
  if (copy == nullptr) {
    copy = &copies_.emplace_back();
    copy->form = form;
    copy->canonical = {DType::kFloat32, variable.shape(), reinterpret_cast<std::byte*>(variable.copy(0).data())};
    copy->memory = device_->allocate(form.bytes);
  }
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
