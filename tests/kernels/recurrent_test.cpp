#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/recurrent_cases.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

TEST_CASE("recurrent cells match a reference in double, whatever fits into vectors") {
  for (const ops::Cell cell : kCells) {
    for (const DType dtype : kFloatTypes) {
      for (const std::int64_t units : {1, 5, 16, 35}) {
        const ops::RecurrentAttributes op{.cell = cell, .backwards = units == 5};
        const Case test = recurrent_case(dtype, op, 4, units, units != 16);
        check_forward(test);
        check_gradient(test, {true, false, false});
      }
    }
    check_forward(recurrent_case(DType::kFloat32, {.cell = cell}, 1, 3, false));
    check_gradient(recurrent_case(DType::kFloat32, {.cell = cell}, 1, 3, false), {true, false, false});
  }
}

TEST_CASE("recurrent cells carry their states over steps that a mask leaves out") {
  for (const ops::Cell cell : kCells) {
    for (const DType dtype : kFloatTypes) {
      for (const std::int64_t units : {1, 5, 16, 35}) {
        const ops::RecurrentAttributes op{.cell = cell, .backwards = units == 5};
        const Case test = masked_recurrent_case(dtype, op, 5, units, units != 16);
        check_forward(test);
        check_gradient(test, {true, false, false, false});
      }
    }
  }
}

TEST_CASE("recurrent cells take other activations") {
  for (const ops::Cell cell : kCells) {
    const Case test =
        recurrent_case(DType::kFloat32, {.cell = cell, .activation = ops::ActivationKind::kSoftsign}, 3, 7, true);
    check_forward(test);
    check_gradient(test, {true, false, false});
  }
}

TEST_CASE("the factors of the recurrent kernel's gradient are the states before, and what they were multiplied for") {
  constexpr std::int64_t kSteps = 3, kUnits = 5, kRows = 2;
  for (const ops::Cell cell : kCells) {
    for (const bool backwards : {false, true}) {
      CAPTURE(static_cast<int>(cell));
      CAPTURE(backwards);
      const ops::RecurrentAttributes op{.cell = cell, .backwards = backwards};
      const Case test = recurrent_case(DType::kFloat32, op, kSteps, kUnits, false);
      std::vector<Values> inputs;
      for (const Operand& operand : {test.inputs[0], test.inputs[1]}) {
        inputs.push_back(filled(operand.spec.shape_at(kRows)));
        for (std::int64_t i = 0; i < inputs.back().elements(); ++i) {
          inputs.back()[i] = std::sin(static_cast<double>(i) * 0.7 + static_cast<double>(inputs.size()));
        }
      }
      const std::vector<Values> given = test.reference(inputs);
      const ValueSpec state{DType::kFloat32, {kSteps, kUnits}, true};
      const ValueSpec saved{DType::kFloat32, {kSteps, op.saved() * kUnits}, true};
      const std::vector<Values> found = run_op(ops::RecurrentGradient(op),
                                               {{test.inputs[1].spec, inputs[1]},
                                                {state, given[0]},
                                                {saved, given[1]},
                                                {state, filled(given[0].shape, 0.5)}},
                                               kRows);
      const std::int64_t products = op.products(), columns = op.gates() * kUnits;
      const Values &projected = found[0], &left = found[1], &right = op.adds_products() ? found[0] : found[2];
      for (std::int64_t i = 0; i < kRows * kSteps * kUnits; ++i) {
        const std::int64_t row = i / (kSteps * kUnits), step = i / kUnits % kSteps, unit = i % kUnits;
        const std::int64_t read = backwards ? kSteps - 1 - step : step, at = row * kSteps + read;
        const double before = step == 0 ? 0 : given[0][i - kUnits];
        CHECK(left[at * products * kUnits + unit] == doctest::Approx(before).epsilon(1e-5));
        if (op.adds_products()) continue;
        const double reset = given[1][((row * kSteps + step) * op.saved() + 1) * kUnits + unit];
        for (std::int64_t gate = 0; gate < 3; ++gate) {
          const double of_input = projected[at * columns + gate * kUnits + unit];
          const double first = right[at * products * columns + gate * kUnits + unit];
          if (cell == ops::Cell::kGru) {
            CHECK(first == doctest::Approx(gate == 2 ? of_input * reset : of_input).epsilon(1e-5));
          } else {
            const double second = right[(at * products + 1) * columns + gate * kUnits + unit];
            CHECK(first == doctest::Approx(gate == 2 ? 0 : of_input));
            CHECK(second == doctest::Approx(gate == 2 ? of_input : 0));
          }
        }
        if (products == 2) {
          CHECK(left[(at * products + 1) * kUnits + unit] == doctest::Approx(reset * before).epsilon(1e-5));
        }
      }
    }
  }
}

TEST_CASE("a row's states have the same bits beside any other rows") {
  for (const ops::Cell cell : kCells) {
    constexpr std::int64_t kSteps = 6, kUnits = 20, kRows = 70;
    const Case test = recurrent_case(DType::kFloat32, {.cell = cell}, kSteps, kUnits, false);
    std::vector<std::pair<ValueSpec, Values>> inputs;
    for (const Operand& operand : {test.inputs[0], test.inputs[1]}) {
      inputs.emplace_back(operand.spec, filled(operand.spec.shape_at(kRows)));
      for (std::int64_t i = 0; i < inputs.back().second.elements(); ++i) {
        inputs.back().second[i] = std::sin(static_cast<double>(i) * 0.3);
      }
    }
    const Values all = run_op(*test.op, inputs, kRows, 2)[0];
    const std::int64_t width = kSteps * kUnits * ops::RecurrentAttributes{.cell = cell}.gates();
    Values& x = inputs[0].second;
    x = {{1, kSteps, width / kSteps}, {x.data.end() - width, x.data.end()}};
    const Values last = run_op(*test.op, inputs, 1)[0];
    CHECK(std::equal(last.data.begin(), last.data.end(), all.data.end() - last.elements()));
  }
}

TEST_CASE("inputs of recurrent cells that do not fit together are refused") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, {3, 8}, true});
  const ValueId kernel = graph.variable({.name = "k", .shape = {2, 8}});
  const ValueId other = graph.variable({.name = "other", .shape = {2, 6}});
  CHECK_NOTHROW(graph.apply(ops::Recurrent({}), {x, kernel}));
  CHECK_THROWS_WITH(graph.apply(ops::Recurrent({}), {x, other}),
                    "recurrent: expected a float32 kernel [units, 4 units], found float32 [2, 6]");
  CHECK_THROWS_WITH(graph.apply(ops::Recurrent({.cell = ops::Cell::kGru}), {x, other}),
                    "recurrent: expected [steps, 6] per row, float32 or bfloat16, found float32 [3, 8] per row");
  CHECK_THROWS_WITH(graph.apply(ops::Recurrent({}), {x, kernel, other}),
                    "recurrent: expected the recurrent bias as float32 [8], found float32 [2, 6]");
}
