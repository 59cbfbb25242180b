#include <array>
#include <cstdint>

#include "base/error.h"
#include "collective/peer/sum_on_stream.h"
#include "kernels/cuda/update.h"

namespace mirrortrain {

void sum_on_gpu(Stream& stream, std::span<const float* const> terms, float* to, std::size_t count) {
  std::array<scalar::GradientSource, cuda::kMaxSources> sources;
  if (terms.size() > sources.size()) throw Error("a GPU adds at most 64 terms at once");
  for (std::size_t i = 0; i < terms.size(); ++i) sources[i] = {terms[i], 1};
  cuda::sum_sources(stream, std::span(sources).first(terms.size()), to, 0, static_cast<std::int64_t>(count));
}

}  // namespace mirrortrain
