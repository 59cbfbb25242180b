#pragma once

#include <cstddef>
#include <span>

#include "device/device.h"

namespace mirrortrain {

/// Enqueues to = terms[0] + terms[1] + ..., in that order: `count` float32 elements in the memory of the stream's
/// device, each array aligned to 64 bytes. `to` may be one of the terms. Takes up to 64 terms.
using SumOnStream = void (*)(Stream& stream, std::span<const float* const> terms, float* to, std::size_t count);

/// The one of GPUs, in one launch. The calling thread has entered the stream's GPU. Throws UsageError in a build
/// without CUDA.
void sum_on_gpu(Stream& stream, std::span<const float* const> terms, float* to, std::size_t count);

}  // namespace mirrortrain
