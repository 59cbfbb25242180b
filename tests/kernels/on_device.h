#pragma once

#include "device/device.h"
#include "kernels/kernel.h"

namespace mirrortrain::testing {

/// `kernels` of a device with memory of its own behind kernels for host memory, so that a device's kernels run through
/// the op tables: every operand is copied there, the kernel runs, and every operand is copied back. The device must
/// outlive the result.
KernelRegistry on_device(const KernelRegistry& kernels, Device& device);

}  // namespace mirrortrain::testing
