#pragma once

#include <cstdint>
#include <functional>

#include "device/device.h"
#include "kernels/kernel.h"

namespace mirrortrain::testing {

// What differs between CUDA's kernels on the host and on a GPU, so that one test serves both.

/// Calls body(most blocks of a grid), where that can be chosen with 3, 1 and many, else once.
void in_each_geometry(const std::function<void(std::int64_t blocks)>& body);

/// What kernels are enqueued on without the harness. What they work on has to come from std::pmr's default resource,
/// and can be read after Stream::synchronize.
Stream& stream_under_test();

/// A test's own registry of custom kernels for host memory, wherever they run.
KernelRegistry for_host_memory(const KernelRegistry& kernels);

/// The same kernels as registry_under_test(), but float32 may be rounded to tf32.
const KernelRegistry& tf32_registry_under_test();

}  // namespace mirrortrain::testing
