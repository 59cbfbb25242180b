#include "model/update_rule.h"

#include <array>

namespace mirrortrain {

std::span<const std::string_view> UpdateRule::slots() const {
  static constexpr std::array<std::string_view, 2> kSlots{"momentum", "velocity"};
  switch (kind) {
    case Kind::kSgd: return {};
    case Kind::kSgdMomentum:
    case Kind::kSgdNesterov: return std::span(kSlots).first(1);
    case Kind::kAdam:
    case Kind::kAdamW: break;
  }
  return kSlots;
}

}  // namespace mirrortrain
