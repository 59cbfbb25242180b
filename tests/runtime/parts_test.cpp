// A program that runs in parts, so that what is complete can be used between them.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "graph/ops/elementwise.h"
#include "kernels/cpu/registry.h"
#include "model/from_text.h"
#include "runtime/run_graph.h"

namespace mirrortrain {
namespace {

using testing::BoundRun;
using testing::Bytes;
using testing::GraphInputs;

/// A model with branches, convolutions and both kinds of outputs that training has.
struct Training {
  Built built = build_layers("[8, 8, 2]",
                             "    - conv2d: {filters: 4, kernel_size: 3, padding: same, activation: relu, name: stem}\n"
                             "    - batch_normalization: {name: norm}\n"
                             "    - conv2d: {filters: 4, kernel_size: 3, padding: same, name: side}\n"
                             "    - add: {inputs: [stem, norm, side]}\n"
                             "    - max_pooling2d\n"
                             "    - dropout: {rate: 0.25}\n"
                             "    - flatten\n"
                             "    - dense: {units: 3}\n");
  const ModelGraph& made = built.model.training;
  std::vector<ValueId> outputs{made.outputs[0].loss};

  Training() {
    REQUIRE(built.errors == "");
    for (const ValueId gradient : made.gradients) {
      if (gradient != kNoValue) outputs.push_back(gradient);
    }
    for (const Assignment& assignment : made.assignments) outputs.push_back(assignment.value);
  }
  Program program(std::int64_t rows) const { return {made.graph, rows, outputs, cpu::kernel_registry(), 1}; }
};

TEST_CASE("a program in parts gives what it gives as a whole, wherever it is parted") {
  const Training training;
  const Program program = training.program(3);
  const GraphInputs inputs(training.made.graph, 3);
  BoundRun whole(training.made.graph, program, training.outputs, inputs);
  whole.bound->enqueue(whole.stream);
  for (std::size_t cut = 0; cut <= program.steps(); ++cut) {
    CAPTURE(cut);
    BoundRun parted(training.made.graph, program, training.outputs, inputs);
    parted.bound->enqueue(parted.stream, 0, cut);
    parted.bound->enqueue(parted.stream, cut, program.steps());
    CHECK(parted.outputs() == whole.outputs());
  }
}

TEST_CASE("an output is complete after its step, and nobody touches it after that") {
  const Training training;
  const Program program = training.program(3);
  const GraphInputs inputs(training.made.graph, 3);
  BoundRun whole(training.made.graph, program, training.outputs, inputs);
  whole.bound->enqueue(whole.stream);
  const std::vector<Bytes> final_values = whole.outputs();

  for (std::size_t i = 0; i < training.outputs.size(); ++i) {
    const std::size_t complete = program.complete_after(training.outputs[i]);
    REQUIRE((complete >= 1 && complete <= program.steps()));
    BoundRun run(training.made.graph, program, training.outputs, inputs);
    run.bound->enqueue(run.stream, 0, complete - 1);
    CHECK(run.output(i) != final_values[i]);
    run.bound->enqueue(run.stream, complete - 1, complete);
    CHECK(run.output(i) == final_values[i]);

    std::ranges::fill(run.bytes(i), std::byte{0x5a});
    run.bound->enqueue(run.stream, complete, program.steps());
    CHECK(std::ranges::count(run.output(i), std::byte{0x5a}) == std::ssize(final_values[i]));
    for (std::size_t other = 0; other < training.outputs.size(); ++other) {
      if (other != i) CHECK(run.output(other) == final_values[other]);
    }
  }
}

TEST_CASE("gradients are complete from the last layer to the first, long before the end") {
  const Training training;
  const Program program = training.program(3);
  const ModelGraph& made = training.made;
  const auto complete = [&](std::string_view name) {
    for (std::size_t i = 0; i < training.built.model.variables.size(); ++i) {
      if (training.built.model.variables[i].spec.name == name) return program.complete_after(made.gradients[i]);
    }
    throw Error("no such variable");
  };
  CHECK(complete("dense/kernel") < complete("side/kernel"));
  CHECK(complete("side/kernel") < complete("norm/gamma"));
  CHECK(complete("norm/gamma") < complete("stem/kernel"));
  CHECK(complete("stem/kernel") == program.steps());
}

TEST_CASE("a graph has the same steps at every number of rows") {
  const Training training;
  const Program one = training.program(1);
  for (const std::int64_t rows : {2, 7, 64}) {
    const Program other = training.program(rows);
    CHECK(other.steps() == one.steps());
    for (const ValueId output : training.outputs) CHECK(other.complete_after(output) == one.complete_after(output));

    const GraphInputs inputs(training.made.graph, rows), one_row(training.made.graph, 1);
    BoundRun run(training.made.graph, other, training.outputs, inputs);
    BoundRun one_run(training.made.graph, one, training.outputs, one_row);
    run.bound->profile();
    one_run.bound->profile();
    const auto times = run.bound->step_times(), one_times = one_run.bound->step_times();
    REQUIRE(times.size() == one_times.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      CHECK(times[i].layer == one_times[i].layer);
      CHECK(times[i].op == one_times[i].op);
    }
  }
}

struct Chain {
  Graph graph;
  ValueId x = graph.input("x", {DType::kFloat32, Shape{4}, true});
  ValueId tanh(ValueId from) { return graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {from}); }
};

TEST_CASE("an output that later steps read is complete after the last of them") {
  Chain chain;
  const ValueId first = chain.tanh(chain.x), second = chain.tanh(first), third = chain.tanh(second);
  const Program program(chain.graph, 2, {first, third}, cpu::kernel_registry(), 1);
  CHECK(program.complete_after(first) == 2);
  CHECK(program.complete_after(third) == 3);
}

TEST_CASE("outputs that are copied at the end, and what they are copied from, are complete with the last step") {
  Chain chain;
  const ValueId first = chain.tanh(chain.x);
  const ValueId again = chain.graph.apply_one(ops::Reshape(Shape{2, 2}), {first});
  const ValueId input_again = chain.graph.apply_one(ops::Reshape(Shape{2, 2}), {chain.x});
  const ValueId second = chain.tanh(first);
  const std::vector<ValueId> outputs{first, again, input_again, second};
  const Program program(chain.graph, 2, outputs, cpu::kernel_registry(), 1);
  CHECK(program.steps() == 2);
  for (const ValueId output : outputs) CHECK(program.complete_after(output) == 2);

  const GraphInputs inputs(chain.graph, 2);
  BoundRun run(chain.graph, program, outputs, inputs);
  run.bound->enqueue(run.stream, 0, 2);
  CHECK(run.outputs() == testing::interpret(chain.graph, outputs, cpu::kernel_registry(), inputs));
}

TEST_CASE("steps that do not exist and values that are no outputs are refused") {
  Chain chain;
  const ValueId first = chain.tanh(chain.x), second = chain.tanh(first);
  const Program program(chain.graph, 2, {second}, cpu::kernel_registry(), 1);
  const GraphInputs inputs(chain.graph, 2);
  BoundRun run(chain.graph, program, {second}, inputs);
  CHECK_THROWS_WITH_AS(run.bound->enqueue(run.stream, 1, 3), "a program of 2 steps has none from 1 to 3", Error);
  CHECK_THROWS_WITH_AS(run.bound->enqueue(run.stream, 2, 1), "a program of 2 steps has none from 2 to 1", Error);
  CHECK_THROWS_WITH_AS(program.complete_after(first), "value 1 is no output of the program", Error);
}

}  // namespace
}  // namespace mirrortrain
