#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/harness_parts.h"

namespace mirrortrain::testing {

/// What an op is given, and how near to the CPU's its outputs must be: as in Case, 0 for the same bits.
struct Comparison {
  std::string name;
  std::shared_ptr<const Op> op;
  std::vector<Operand> inputs;
  std::vector<std::int64_t> rows;
  double tolerance = 0;
  StepParams step = {.seed = 7, .step = 3, .first_row = 11, .global_examples = 13};
  bool tf32 = false;  ///< of tf32_registry_under_test()
};

/// Calls body(outputs, most blocks of a grid) in each geometry. The first one, of several blocks, has the other runs
/// that run_op adds.
void run_in_each_geometry(const Op& op, const Inputs& inputs, std::int64_t rows, const StepParams& step,
                          const std::function<void(const std::vector<Values>& found, std::int64_t blocks)>& body,
                          const KernelRegistry& registry = registry_under_test());

/// Runs the op's kernels of both backends, this one's in grids of at most 1, 3 and many blocks, and compares all
/// outputs.
void compare_with_cpu(const Comparison& test);

}  // namespace mirrortrain::testing
