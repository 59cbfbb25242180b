#include "kernels_cuda/compare_with_cpu.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernels/cpu/registry.h"
#include "kernels_cuda/under_test.h"

namespace mirrortrain::testing {

void run_in_each_geometry(const Op& op, const Inputs& inputs, std::int64_t rows, const StepParams& step,
                          const std::function<void(const std::vector<Values>&, std::int64_t)>& body,
                          const KernelRegistry& registry) {
  // Runs twice, without outputs and in place come in one geometry of each op, by turns.
  static std::size_t turn = 0;
  std::size_t geometry = 0;
  in_each_geometry([&](std::int64_t blocks) {
    const bool is_whole = geometry++ == turn % 3;
    body(is_whole ? run_op(op, inputs, rows, 1, step, registry) : run_once(op, inputs, rows, step, registry), blocks);
  });
  turn = geometry > 1 ? turn + 1 : 0;  // on a GPU there is one
}

void compare_with_cpu(const Comparison& test) {
  const KernelRegistry& registry = test.tf32 ? tf32_registry_under_test() : registry_under_test();
  for (const std::int64_t rows : test.rows) {
    const Inputs inputs = random_inputs(test.inputs, rows);
    const std::vector<Values> expected = run_once(*test.op, inputs, rows, test.step, cpu::kernel_registry());
    const auto check = [&](const std::vector<Values>& found, std::int64_t blocks) {
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        compare(found[i], expected[i], test.tolerance,
                fmt::format("{}: output {} at {} rows in {} blocks", test.name, i, rows, blocks));
      }
    };
    run_in_each_geometry(*test.op, inputs, rows, test.step, check, registry);
  }
}

}  // namespace mirrortrain::testing
