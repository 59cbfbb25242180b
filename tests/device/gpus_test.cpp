#include "device/cuda/gpus.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "device/cuda/cuda_device.h"

using namespace mirrortrain;
using cuda::runs_on;

TEST_CASE("code runs on the GPUs that its architectures name") {
  CHECK(runs_on("90a", 9, 0));
  CHECK_FALSE(runs_on("90a", 10, 0));
  CHECK_FALSE(runs_on("90a", 8, 9));
  CHECK(runs_on("100f", 10, 3));
  CHECK_FALSE(runs_on("100f", 12, 0));
  CHECK(runs_on("80-real", 8, 6));
  CHECK_FALSE(runs_on("80-real", 9, 0));
  CHECK_FALSE(runs_on("86-real", 8, 0));
  CHECK(runs_on("80", 12, 0));
  CHECK_FALSE(runs_on("80", 7, 5));
  CHECK(runs_on("75,90a,100", 9, 0));
  CHECK(runs_on("75-real,80-real,90a", 8, 9));
  CHECK_FALSE(runs_on("75-real,80-real,90a", 12, 0));
  CHECK_FALSE(runs_on("", 9, 0));
}

TEST_CASE("a GPU is described by name, memory, compute capability and links") {
  using cuda::Link;
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  const cuda::Gpus alone{{{"NVIDIA H200", 140 * kGiB, 9, 0, "", {Link::kThroughHost}}}, ""};
  CHECK(cuda::describe(alone, 0) == "NVIDIA H200, 140.0 GiB, compute capability 9.0");
  cuda::Gpus four;
  four.gpus.resize(4, {"GPU", 8 * kGiB, 8, 6, "", {}});
  four.gpus[1].links = {Link::kNvlink, Link::kThroughHost, Link::kThroughHost, Link::kPcie};
  CHECK(cuda::describe(four, 1) ==
        "GPU, 8.0 GiB, compute capability 8.6, NVLink to cuda:0, PCIe to cuda:3, through the host to cuda:2");
}

TEST_CASE("a machine has GPUs or a reason why not, and a GPU that does not exist is a usage error") {
  const cuda::Gpus found = cuda::visible_gpus();
  CHECK(found.gpus.empty() == found.why_none.starts_with("no GPU"));
  CHECK_THROWS_AS(make_cuda_device(static_cast<int>(found.gpus.size())), UsageError);
  CHECK_THROWS_AS(make_cuda_device(-1), UsageError);
}
