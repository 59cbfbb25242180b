#pragma once

#include <functional>
#include <memory>

#include "kernels/kernel.h"

namespace mirrortrain::cpu {

/// Returns null where there is no kernel for these specs.
using KernelMaker = std::function<std::unique_ptr<Kernel>(const KernelSpecs&)>;

/// Completes the kernels of `make`: with zero rows, a kernel that zeroes its outputs; if `make` has none for bfloat16,
/// its float32 kernel between conversions. Throws Error if `make` has none for float32.
std::unique_ptr<Kernel> choose_kernel(const Op& op, const KernelSpecs& specs, const KernelMaker& make);

/// The float32 kernel of `make` used for bfloat16; operands are converted in the workspace.
std::unique_ptr<Kernel> float32_detour(const KernelSpecs& specs, const KernelMaker& make);

}  // namespace mirrortrain::cpu
