#include "device/cpu/cpu_device.h"
#include "kernels/cuda/launch.h"
#include "kernels_cuda/under_test.h"

namespace mirrortrain::testing {

void in_each_geometry(const std::function<void(std::int64_t)>& body) {
  const std::int64_t before = cuda::host_max_blocks;
  for (const std::int64_t blocks : {3, 1, 2048}) {
    cuda::host_max_blocks = blocks;
    body(blocks);
  }
  cuda::host_max_blocks = before;
}

Stream& stream_under_test() {
  static InlineStream stream;
  return stream;
}

}  // namespace mirrortrain::testing
