#include "kernels_cuda/compare_with_cpu.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernels/cpu/registry.h"
#include "kernels/harness_parts.h"
#include "kernels_cuda/under_test.h"

namespace mirrortrain::testing {

void compare_with_cpu(const Comparison& test) {
  const KernelRegistry& registry = test.tf32 ? tf32_registry_under_test() : registry_under_test();
  for (const std::int64_t rows : test.rows) {
    const Inputs inputs = random_inputs(test.inputs, rows);
    const std::vector<Values> expected = run_op(*test.op, inputs, rows, 1, test.step, cpu::kernel_registry());
    in_each_geometry([&](std::int64_t blocks) {
      const std::vector<Values> found = run_op(*test.op, inputs, rows, 1, test.step, registry);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        compare(found[i], expected[i], test.tolerance,
                fmt::format("{}: output {} at {} rows in {} blocks", test.name, i, rows, blocks));
      }
    });
  }
}

}  // namespace mirrortrain::testing
