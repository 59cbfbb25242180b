#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/names.h"
#include "graph/ops/pointwise_function.h"

namespace mirrortrain::formula {

/// What a function of the language does with its arguments.
enum class FunctionKind : std::uint8_t {
  kPointwise,  ///< of single elements
  kReduction,  ///< over axes: axis=, keepdims=
  kAlongAxis,  ///< softmax
  kMatmul,
  kConcatenate,
};

/// A function or an operator.
struct Function {
  std::string_view name;
  FunctionKind kind;
  std::size_t fewest = 1, most = 1;             ///< arguments
  std::optional<ops::PointwiseCode> code = {};  ///< of kPointwise, where one operation does it
  bool is_operator = false;                     ///< so that no name may be written for it
};

/// Null if there is none of this name.
const Function* find_function(std::string_view name);
/// The names that a formula may call, with what other programs call them.
std::vector<config::Name> function_names();
/// "; a power is written a ** b" for `pow`: what is written in place of functions that are none here; or "".
std::string advice_on_function(std::string_view name);
/// Whether it takes `axis`; and whether `keepdims`.
inline bool takes_axis(const Function& function) {
  return function.kind != FunctionKind::kPointwise && function.kind != FunctionKind::kMatmul;
}
inline bool takes_keepdims(const Function& function) { return function.kind == FunctionKind::kReduction; }

}  // namespace mirrortrain::formula
