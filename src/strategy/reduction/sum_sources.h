#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/step_kernels.h"

namespace mirrortrain {

/// to[0, count) = the sources, added in their order, however many there are; changes `sources`.
inline void sum_sources(const StepKernels& kernels, Stream& stream, std::span<scalar::GradientSource> sources,
                        float* to, std::int64_t count) {
  // As many at once as the kernel accepts: the partial result is the first source of the next ones.
  while (true) {
    const auto now = sources.first(std::min(sources.size(), static_cast<std::size_t>(kernels.most_sources())));
    kernels.sum_sources(stream, now, to, 0, count);
    if (now.size() == sources.size()) return;
    sources = sources.subspan(now.size() - 1);
    sources.front() = {to, 1};
  }
}

}  // namespace mirrortrain
