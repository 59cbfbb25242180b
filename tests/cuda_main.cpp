// Runs a test program that needs a GPU; without one it says why and ends with the code that ctest reports as skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "device/cuda/gpus.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const mirrortrain::cuda::Gpus found = mirrortrain::cuda::visible_gpus();
  if (found.gpus.empty()) {
    std::printf("skipped: %s\n", found.why_none.c_str());
    return kSkipped;
  }
  return doctest::Context(argc, argv).run();
}
