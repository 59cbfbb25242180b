#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/codec.h"
#include "config/section.h"

namespace mirrortrain {

/// The section `strategy.pipeline`.
struct PipelineOptions {
  config::Located<std::vector<std::string>> split_before;
  std::int64_t microbatches = 1;

  int stages() const { return static_cast<int>(split_before.value.size()) + 1; }
  static config::Section<PipelineOptions> section();
};

}  // namespace mirrortrain
