#include "kernels/cpu/versions.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

namespace mirrortrain::cpu {

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace mirrortrain::cpu
