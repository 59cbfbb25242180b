#pragma once

#include <functional>
#include <memory>

#include "kernels/kernel.h"

namespace mirrortrain::cpu {

/// Returns null where there is no kernel for these specs.
using KernelMaker = std::function<std::unique_ptr<Kernel>(const KernelSpecs&)>;

/// What every kernel with weights needs beside its own: with zero rows a kernel that zeroes its outputs; where `make`
/// has nothing for bfloat16, its float32 kernel between conversions. Throws Error where `make` has nothing for float32.
std::unique_ptr<Kernel> choose_kernel(const Op& op, const KernelSpecs& specs, const KernelMaker& make);

/// A kernel that `make` builds for float32 in place of bfloat16; operands are converted in the workspace.
std::unique_ptr<Kernel> float32_detour(const KernelSpecs& specs, const KernelMaker& make);

}  // namespace mirrortrain::cpu
