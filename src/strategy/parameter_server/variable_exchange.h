#pragma once

#include <span>
#include <vector>

#include "strategy/parameter_server/placement.h"
#include "strategy/variables/lasting_variable.h"

namespace mirrortrain {

/// Maps the variables' elements to their offsets in messages of all servers.
class VariableExchange {
 public:
  explicit VariableExchange(const Placement& placement);

  // What a visit of the variables does, for which `lasting(content)` or `kPushed` lasts of them.
  static Lasting lasting(Content content) {
    return content == Content::kState ? Lasting::kValues | Lasting::kSlots : Lasting::kValues;
  }
  static constexpr Lasting kPushed = Lasting::kValues | Lasting::kAccumulated;
  void read(Content content, std::span<const float> message, const LastingVariable& to) const;
  void write(Content content, const LastingVariable& from, std::span<float> message) const;
  /// Content::kDense of a push: accumulated gradients, and the values that layers assign.
  void push(const LastingVariable& from, std::span<float> message) const;
  /// The square of the norm of a push's gradients.
  double squares_of_push(std::span<const float> message) const;

 private:
  /// A contiguous run of elements of a variable, or of its slot, and of the message.
  struct Run {
    int slot = -1;
    std::int64_t first = 0, offset = 0, count = 0;
    bool is_trained = false;

    float* elements(const LastingVariable& variable) const {
      const auto& whole = slot < 0 ? variable.value : variable.slots[static_cast<std::size_t>(slot)];
      return whole.copy(0).as<float>() + first;
    }
  };
  const std::vector<Run>& runs_of(Content content, std::size_t variable) const {
    return runs_[static_cast<std::size_t>(content)][variable];
  }

  std::vector<std::vector<std::vector<Run>>> runs_;  ///< by content, then variable
};

}  // namespace mirrortrain
