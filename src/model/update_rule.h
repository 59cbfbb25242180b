#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace mirrortrain {

/// How an optimizer changes a weight w, given its gradient g, the learning rate lr and the number t of the update (from
/// 1). Slots start at zero.
struct UpdateRule {
  enum class Kind : std::uint8_t {
    kSgd,          ///< w -= lr g
    kSgdMomentum,  ///< v = momentum v - lr g; w += v
    kSgdNesterov,  ///< v as before; w += momentum v - lr g
    kAdam,   ///< m += (g - m)(1 - beta_1); v += (g^2 - v)(1 - beta_2); w -= lr sqrt(1 - beta_2^t) / (1 - beta_1^t) m /
             ///< (sqrt(v) + epsilon)
    kAdamW,  ///< w -= lr weight_decay w; then as adam
  };
  Kind kind = Kind::kSgd;
  float momentum = 0;
  float beta_1 = 0, beta_2 = 0, epsilon = 0;
  float weight_decay = 0;

  /// As Keras names them, in order: "momentum" for v of sgd; "momentum" and "velocity" for m and v of adam.
  std::span<const std::string_view> slots() const;

  friend bool operator==(const UpdateRule&, const UpdateRule&) = default;
};

}  // namespace mirrortrain
