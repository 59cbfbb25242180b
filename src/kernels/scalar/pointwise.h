#pragma once

#include <array>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "base/host_device.h"
#include "graph/ops/pointwise.h"
#include "kernels/scalar/math.h"
#include "kernels/scalar/walk.h"

// The arithmetic of ops::Pointwise, for all devices. Unlike math.h's functions, these are right for every number.
namespace mirrortrain::scalar {

struct Negate {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return -a; }
};
struct Abs {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return std::fabs(a); }
};
/// NaN stays, and so does the sign of 0.
struct Sign {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a; }
};
struct Exp {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return scalar::exp(a); }
};
struct Expm1 {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const {
    const auto [n, r] = reduce_exponent(a < -30.0f ? -30.0f : a > 30.0f ? 30.0f : a);
    const float power = power_of_two<float>(n);
    const float near = power * exp_minus_one_near_zero(r) + (power - 1.0f);
    return a > 30.0f ? scalar::exp(a) : near;
  }
};
struct Log {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const {
    constexpr float kSmallest = FLT_MIN, kInfinity = INFINITY, kNan = NAN;
    const bool is_small = a < kSmallest;  // subnormal: times 2^24
    const float log = scalar::log(is_small ? a * 16777216.0f : a) - (is_small ? 16.6355324f : 0.0f);
    const float positive = a < kInfinity ? log : a;  // NaN, too, stays
    return a > 0.0f ? positive : a == 0.0f ? -kInfinity : a < 0.0f ? kNan : a;
  }
};
struct Log1p {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const {
    constexpr float kInfinity = INFINITY;
    const float sum = 1.0f + a, lost = a - (sum - 1.0f), log = Log()(sum);
    return sum > 0.0f && sum < kInfinity ? log + lost / sum : log;
  }
};
struct Sqrt {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return std::sqrt(a); }
};
struct Rsqrt {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return 1.0f / std::sqrt(a); }
};
struct Square {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return a * a; }
};
/// The sine of `a` and of a quarter of a turn more. What remains of the nearest quarter is exact up to about 1e9.
struct Turned {
  float sin, cos;

  MIRRORTRAIN_HOST_DEVICE explicit Turned(float a) {
    constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52: leaves the nearest integer in the low bits
    const double x = static_cast<double>(a), shifted = x * 0.63661977236758134 + kRounder,
                 quarters = shifted - kRounder;
    const double rest = (x - quarters * 1.5707963267948966) - quarters * 6.1232339957367660e-17;
    const auto r = static_cast<float>(rest), z = r * r;
    const float s = ((-1.95152959e-4f * z + 8.33216087e-3f) * z - 1.66666546e-1f) * z * r + r;
    const float c = ((2.44331571e-5f * z - 1.38873162e-3f) * z + 4.16666456e-2f) * z * z - 0.5f * z + 1.0f;
    const auto quarter = static_cast<std::int32_t>(bit_cast<std::int64_t>(shifted) & 3);
    const bool is_odd = (quarter & 1) != 0;
    const float of_sin = is_odd ? c : s, of_cos = is_odd ? s : c;
    sin = quarter >= 2 ? -of_sin : of_sin;
    cos = quarter == 1 || quarter == 2 ? -of_cos : of_cos;
  }
};
struct Sin {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return Turned(a).sin; }
};
struct Cos {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return Turned(a).cos; }
};
struct HyperbolicTangent {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return scalar::tanh(a); }
};
struct Logistic {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return scalar::sigmoid(a); }
};
/// NaN stays.
struct Rectified {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return a < 0.0f ? 0.0f : a; }
};
struct LogOnePlusExp {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return scalar::softplus(a); }
};
/// By its series near 0, elsewhere by the normal distribution's tail.
struct Erf {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const {
    const float size = std::fabs(a), z = a * a;
    float p = -1.49256504e-5f * z + 1.20553316e-4f;  // 2 / sqrt(pi) (-1)^n / (n! (2 n + 1))
    p = p * z - 8.54832702e-4f;
    p = p * z + 5.22397760e-3f;
    p = p * z - 2.68661707e-2f;
    p = p * z + 1.12837917e-1f;
    p = p * z - 3.76126389e-1f;
    p = p * z + 1.12837917f;
    const float far = 1.0f - 2.0f * normal(-1.41421356f * size).below;
    return size < 0.75f ? a * p : std::copysign(far, a);
  }
};
struct Not {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return a == 0.0f ? 1.0f : 0.0f; }
};

struct LogisticSlope {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return a * (1.0f - a); }
};
struct TanhSlope {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a) const { return 1.0f - a * a; }
};

struct Sum {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
};
struct Minus {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a - b; }
};
struct Times {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a * b; }
};
struct Over {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a / b; }
};
struct Power {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return std::pow(a, b); }
};
struct Angle {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return std::atan2(a, b); }
};
/// A NaN on either side stays.
struct Larger {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a >= b || a != a ? a : b; }
};
struct Smaller {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a <= b || a != a ? a : b; }
};
struct Less {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a < b ? 1.0f : 0.0f; }
};
struct LessEqual {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a <= b ? 1.0f : 0.0f; }
};
struct Equal {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a == b ? 1.0f : 0.0f; }
};
struct NotEqual {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a != b ? 1.0f : 0.0f; }
};
struct And {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a != 0.0f && b != 0.0f ? 1.0f : 0.0f; }
};
struct Or {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a != 0.0f || b != 0.0f ? 1.0f : 0.0f; }
};
struct Chain {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a == 0.0f ? 0.0f : a * b; }
};

/// Calls function(functor) with that of `code`, which has one operand.
template <class Function>
MIRRORTRAIN_DEVICE void with_code_of_one(ops::PointwiseCode code, const Function& function) {
  switch (code) {
    case ops::PointwiseCode::kNegate: return function(Negate());
    case ops::PointwiseCode::kAbs: return function(Abs());
    case ops::PointwiseCode::kSign: return function(Sign());
    case ops::PointwiseCode::kExp: return function(Exp());
    case ops::PointwiseCode::kExpm1: return function(Expm1());
    case ops::PointwiseCode::kLog: return function(Log());
    case ops::PointwiseCode::kLog1p: return function(Log1p());
    case ops::PointwiseCode::kSqrt: return function(Sqrt());
    case ops::PointwiseCode::kRsqrt: return function(Rsqrt());
    case ops::PointwiseCode::kSquare: return function(Square());
    case ops::PointwiseCode::kSin: return function(Sin());
    case ops::PointwiseCode::kCos: return function(Cos());
    case ops::PointwiseCode::kTanh: return function(HyperbolicTangent());
    case ops::PointwiseCode::kSigmoid: return function(Logistic());
    case ops::PointwiseCode::kRelu: return function(Rectified());
    case ops::PointwiseCode::kSoftplus: return function(LogOnePlusExp());
    case ops::PointwiseCode::kErf: return function(Erf());
    case ops::PointwiseCode::kLogisticSlope: return function(LogisticSlope());
    case ops::PointwiseCode::kTanhSlope: return function(TanhSlope());
    default: return function(Not());
  }
}

/// The same for two operands.
template <class Function>
MIRRORTRAIN_DEVICE void with_code_of_two(ops::PointwiseCode code, const Function& function) {
  switch (code) {
    case ops::PointwiseCode::kAdd: return function(Sum());
    case ops::PointwiseCode::kSubtract: return function(Minus());
    case ops::PointwiseCode::kMultiply: return function(Times());
    case ops::PointwiseCode::kDivide: return function(Over());
    case ops::PointwiseCode::kPower: return function(Power());
    case ops::PointwiseCode::kArctan2: return function(Angle());
    case ops::PointwiseCode::kMaximum: return function(Larger());
    case ops::PointwiseCode::kMinimum: return function(Smaller());
    case ops::PointwiseCode::kLess: return function(Less());
    case ops::PointwiseCode::kLessEqual: return function(LessEqual());
    case ops::PointwiseCode::kEqual: return function(Equal());
    case ops::PointwiseCode::kNotEqual: return function(NotEqual());
    case ops::PointwiseCode::kAnd: return function(And());
    case ops::PointwiseCode::kOr: return function(Or());
    default: return function(Chain());
  }
}

/// A PointwiseFunction as a kernel runs it, in fewer steps: products and sums are done with what they multiply and add
/// to. Results lie in a few slots, each free again after its last reader. A kernel's parameter.
struct PointwiseProgram {
  static constexpr int kMostSlots = 64;
  /// Which operand a number means: a slot, then constants, then inputs.
  static constexpr int kFirstConstant = kMostSlots;
  static constexpr int kFirstInput = kFirstConstant + static_cast<int>(ops::Pointwise::kMostConstants);
  /// factor * code(a, b, c). A code of one operand: factor * code(before * a), or that times b, or that times b, plus
  /// c.
  struct Step {
    ops::PointwiseCode code;
    std::uint8_t operands;  ///< 1 to 3
    std::uint8_t to;        ///< a slot
    std::uint8_t a, b, c;
    float before, factor;
  };

  int steps = 0, slots = 0, inputs = 0;
  std::uint8_t result = 0;
  Step step[ops::Pointwise::kMostSteps] = {};
  float constant[ops::Pointwise::kMostConstants] = {};

  PointwiseProgram() = default;
};

/// Throws Error where it needs too many slots.
PointwiseProgram program_of(const ops::PointwiseFunction& function);

/// Where the input's element is, by the output's element: it has the output's axes or, without rows, fewer.
inline Walk<1> walk_of_input(const Shape& input, const Shape& output) {
  return {output, {stretched_strides(input, output)}};
}

/// Whether the walk goes through a tensor from the first element to the last.
inline bool is_dense(const Walk<1>& walk) { return walk.axes == 1 && (walk.stride[0][0] == 1 || walk.count == 1); }

}  // namespace mirrortrain::scalar
