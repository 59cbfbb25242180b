// Runs the tests of cuDNN's plans, or says why there are none and ends with the code that ctest reports as skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

int main(int argc, char** argv) {
#ifdef MIRRORTRAIN_CUDA_ABSENT
  (void)argc, (void)argv;
  std::printf("skipped: %s\n", MIRRORTRAIN_CUDA_ABSENT);
  return 77;
#else
  return doctest::Context(argc, argv).run();
#endif
}
