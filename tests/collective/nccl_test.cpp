#include <doctest/doctest.h>

#include <vector>

#include "collective/nccl/nccl_communicator.h"
#include "device/cuda/gpus.h"
#include "error_text.h"
#include "skip.h"

using namespace mirrortrain;

TEST_CASE("without NCCL or a GPU the ranks are refused, and the error says why") {
  if (testing::skip_without(cuda::visible_gpus().gpus.empty(), "a machine without GPUs")) return;
  const std::string why = why_no_nccl(), message = error_text([] { make_nccl_communicators(std::vector{0, 1}, 1); });
  if (why.empty()) {
    CHECK(contains(message, "ncclCommInitAll failed for ranks on cuda:0, cuda:1: "));
  } else {
    CHECK(message == why);
  }
}
