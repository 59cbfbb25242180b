#pragma once

#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <variant>

#include "base/host_device.h"

// The optimizers' update rules, as Keras 3 has them: hyperparameters with their defaults, arithmetic and slots, which
// are what is kept for each weight beside it and start at zero. One call of a functor changes one weight w and its
// slots, given its gradient g. What depends on the step is prepared once by at(), from the learning rate and the number
// of updates done, this one included (t, from 1).
namespace mirrortrain::scalar {

/// w -= rate g
struct PlainSgd {
  static constexpr std::array<std::string_view, 0> kSlotNames{};
  float rate = 0;

  MIRRORTRAIN_HOST_DEVICE PlainSgd at(float learning_rate, long) const { return {learning_rate}; }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float*) const { w -= rate * g; }
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

/// Its hyperparameters choose among three functors, so that nothing is kept or computed for a momentum of 0.
struct Sgd {
  float momentum = 0;
  bool nesterov = false;

  friend bool operator==(const Sgd&, const Sgd&) = default;
};

/// Adam (Kingma, Ba 2015) with both bias corrections in the rate.
struct Adam {
  static constexpr auto kSlotNames = std::to_array<std::string_view>({"momentum", "velocity"});
  float beta_1 = 0.9f, beta_2 = 0.999f, epsilon = 1e-7f;
  float corrected_rate = 0;

  MIRRORTRAIN_HOST_DEVICE Adam at(float learning_rate, long t) const {
    Adam rule = *this;
    const double count = static_cast<double>(t);
    rule.corrected_rate = static_cast<float>(learning_rate * std::sqrt(1.0 - std::pow(double{beta_2}, count)) /
                                             (1.0 - std::pow(double{beta_1}, count)));
    return rule;
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const { w = updated(w, g, slots); }

  friend bool operator==(const Adam&, const Adam&) = default;

 protected:
  MIRRORTRAIN_HOST_DEVICE float updated(float w, float g, float* slots) const {
    slots[0] += (g - slots[0]) * (1.0f - beta_1);
    slots[1] += (g * g - slots[1]) * (1.0f - beta_2);
    return w - corrected_rate * slots[0] / (std::sqrt(slots[1]) + epsilon);
  }
};

/// Adam with decoupled weight decay (Loshchilov, Hutter 2017): w -= weight_decay rate w before Adam's update.
struct AdamW : Adam {
  float weight_decay = 0.004f;
  float kept = 1;

  MIRRORTRAIN_HOST_DEVICE AdamW at(float learning_rate, long t) const {
    return {Adam::at(learning_rate, t), weight_decay, 1.0f - weight_decay * learning_rate};
  }
  MIRRORTRAIN_HOST_DEVICE void operator()(float& w, float g, float* slots) const { w = updated(w * kept, g, slots); }

  friend bool operator==(const AdamW&, const AdamW&) = default;
};

/// The list of rules, from which the list of optimizers (model/optimizers.h) and every backend's kernels are made.
using UpdateRule = std::variant<Sgd, Adam, AdamW>;

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
auto with_functor(const UpdateRule& rule, const Function& function) {
  return std::visit([&](const auto& one) { return with_functor(one, function); }, rule);
}

/// How many slots a functor has; kMaxSlots is the most that a group of variables has memory for.
template <class Functor>
inline constexpr int kSlotsOf = static_cast<int>(Functor::kSlotNames.size());
inline constexpr int kMaxSlots = 2;

/// The names of the rule's slots, which are Keras's, in their order.
inline std::span<const std::string_view> slot_names(const UpdateRule& rule) {
  return with_functor(rule, []<class Functor>(const Functor&) -> std::span<const std::string_view> {
    static_assert(kSlotsOf<Functor> <= kMaxSlots, "a rule with more slots needs a larger kMaxSlots");
    return Functor::kSlotNames;
  });
}

}  // namespace mirrortrain::scalar
