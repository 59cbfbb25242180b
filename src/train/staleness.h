#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mirrortrain {

/// Number of updates by staleness, as from Strategy::staleness.
using StalenessHistogram = std::vector<std::int64_t>;

/// The difference of two histograms.
StalenessHistogram since(const StalenessHistogram& before, const StalenessHistogram& now);

/// "mean 1.25, largest 3 (0: 12, 1: 80, 3: 3)", with rare large ones combined; empty if there is none.
std::string staleness_text(const StalenessHistogram& histogram);

}  // namespace mirrortrain
