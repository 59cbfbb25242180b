#pragma once

#include <string>
#include <string_view>

namespace mirrortrain::keras {

/// The class of Keras's that a name of a configuration stands for: "PReLU" for "prelu", "L1L2" for "l1_l2". "" if there
/// is none.
std::string class_named(std::string_view name);

}  // namespace mirrortrain::keras
