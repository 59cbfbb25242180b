#pragma once

#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/host_device.h"
#include "kernels/scalar/adam_rules.h"
#include "kernels/scalar/adaptive_rules.h"
#include "kernels/scalar/whole_rules.h"

// The optimizers' update rules, as Keras 3 has them: hyperparameters with their defaults, arithmetic and slots, which
// are stored for each weight and start at zero, or at `first_slots`. One call of a functor changes one weight w and its
// slots, given its gradient g. Values that depend on the step are computed once by at(), from the learning rate and the
// number of updates, including this one (t, from 1). Where a rule says that it ignores_zeros, a gradient of 0 changes
// neither weight nor slots.
namespace mirrortrain::scalar {

/// w -= rate g
struct PlainSgd {
  static constexpr std::array<std::string_view, 0> kSlotNames{};
  float rate = 0;

  MIRRORTRAIN_HOST_DEVICE PlainSgd at(float learning_rate, long) const { return {learning_rate}; }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float*) const { w -= rate * g; }
  bool ignores_zeros() const { return true; }
};

/// v = momentum v - rate g; w += v, or with Nesterov's look ahead w += momentum v - rate g.
template <bool kNesterov>
struct SgdMomentum {
  static constexpr auto kSlotNames = std::to_array<std::string_view>({"momentum"});
  float momentum = 0;
  float rate = 0;

  MIRRORTRAIN_HOST_DEVICE SgdMomentum at(float learning_rate, long) const { return {momentum, learning_rate}; }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const {
    slots[0] = momentum * slots[0] - rate * g;
    w += kNesterov ? momentum * slots[0] - rate * g : slots[0];
  }
};

/// Its hyperparameters choose among three functors, so that nothing is stored or computed for a momentum of 0.
struct Sgd {
  float momentum = 0;
  bool nesterov = false;

  friend bool operator==(const Sgd&, const Sgd&) = default;
};

/// The list of rules, from which every backend's kernels are made.
using UpdateRule = std::variant<Sgd, Adam, Rmsprop, Adagrad, Adadelta, Adamax, Nadam, Ftrl, Lion, Lamb,
                                ScheduleFreeAdam, Adafactor, Muon>;

/// Calls function(functor) with the rule's functor, on the host.
template <class Functor, class Function>
auto with_functor(const Functor& functor, const Function& function) {
  return function(functor);
}
template <class Function>
auto with_functor(const Sgd& sgd, const Function& function) {
  if (sgd.momentum == 0) return function(PlainSgd{});  // nesterov or not, the update is the same
  return sgd.nesterov ? function(SgdMomentum<true>{sgd.momentum}) : function(SgdMomentum<false>{sgd.momentum});
}
template <class Function>
auto with_functor(const Adam& adam, const Function& function) {
  return adam.amsgrad ? function(AdamRule<true>{adam.beta_1, adam.beta_2, adam.epsilon})
                      : function(AdamRule<false>{adam.beta_1, adam.beta_2, adam.epsilon});
}
template <class Function>
auto with_functor(const Rmsprop& rmsprop, const Function& function) {
  const auto [rho, momentum, epsilon, centered] = rmsprop;
  if (momentum > 0) {
    return centered ? function(RmspropRule<true, true>{rho, momentum, epsilon})
                    : function(RmspropRule<true, false>{rho, momentum, epsilon});
  }
  return centered ? function(RmspropRule<false, true>{rho, momentum, epsilon})
                  : function(RmspropRule<false, false>{rho, momentum, epsilon});
}
template <class Function>
auto with_functor(const UpdateRule& rule, const Function& function) {
  return std::visit([&](const auto& one) { return with_functor(one, function); }, rule);
}

/// The number of a functor's slots; kMaxSlots is the maximum for a group of variables: a rule's, and the weights'
/// moving average.
template <class Functor>
inline constexpr int kSlotsOf = static_cast<int>(Functor::kSlotNames.size());
inline constexpr int kMaxSlots = 4;

/// Whether a rule scales the step of each variable by norms over the whole of it, so that it has a direction first.
template <class Functor>
inline constexpr bool kScalesByNorms = requires(const Functor& functor, float* slots) {
  functor.direction(0.0f, slots);
};

inline bool scales_by_norms(const UpdateRule& rule) {
  return with_functor(rule, []<class Functor>(const Functor&) { return kScalesByNorms<Functor>; });
}

/// Whether a rule takes steps along directions that are made of whole variables (model/optimizers/direction_graph.h).
template <class Functor>
inline constexpr bool kTakesDirections = requires {
  Functor::kTakesDirections;
};

inline bool takes_directions(const UpdateRule& rule) {
  return with_functor(rule, []<class Functor>(const Functor&) { return kTakesDirections<Functor>; });
}

/// A rule that does either gets gradients that were stored, of whole variables.
template <class Functor>
inline constexpr bool kReadsWholes = kScalesByNorms<Functor> || kTakesDirections<Functor>;

/// The names of the rule's slots, which are Keras's, in their order.
inline std::span<const std::string_view> slot_names(const UpdateRule& rule) {
  return with_functor(rule, []<class Functor>(const Functor&) -> std::span<const std::string_view> {
    static_assert(kSlotsOf<Functor> < kMaxSlots, "a rule with more slots needs a larger kMaxSlots");
    return Functor::kSlotNames;
  });
}

/// The initial value of each of these slots.
inline std::vector<float> first_slots(const UpdateRule& rule) {
  return with_functor(rule, []<class Functor>(const Functor& functor) {
    if constexpr (requires { functor.first_slots(); }) {
      const auto values = functor.first_slots();
      return std::vector<float>(values.begin(), values.end());
    } else {
      return std::vector<float>(Functor::kSlotNames.size(), 0.0f);
    }
  });
}

}  // namespace mirrortrain::scalar
