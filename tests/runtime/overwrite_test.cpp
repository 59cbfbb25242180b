// Where a program gives a value the storage of an input that dies.
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "kernels/cpu/registry.h"
#include "runtime/run_graph.h"

namespace mirrortrain {
namespace {

using ops::ActivationKind;
using testing::BoundRun;
using testing::GraphInputs;

constexpr std::int64_t kRows = 8;
constexpr std::size_t kTensor = kRows * 16 * sizeof(float);  ///< bytes of each value below

struct Fixture {
  Graph graph;
  ValueId x = graph.input("x", {DType::kFloat32, Shape{16}, true});

  ValueId activation(ValueId from, ActivationKind kind = ActivationKind::kTanh) {
    return graph.apply_one(ops::Activation(kind), {from});
  }
  ValueId sum(std::vector<ValueId> terms) { return graph.apply_one(ops::AddN(), std::move(terms)); }
  ValueId reshape(ValueId from, Shape shape) { return graph.apply_one(ops::Reshape(std::move(shape)), {from}); }

  /// Runs the program, compares it with the nodes on their own, and returns its arena's bytes.
  std::size_t arena_of(const std::vector<ValueId>& outputs, unsigned seed = 1) {
    const KernelRegistry registry = cpu::kernel_registry();
    const Program program(graph, kRows, outputs, registry, 1);
    const GraphInputs inputs(graph, kRows, seed);
    const std::vector<float> before(inputs.floats(x).begin(), inputs.floats(x).end());
    BoundRun run(graph, program, outputs, inputs);
    run.bound->enqueue(run.stream);
    CHECK(run.outputs() == testing::interpret(graph, outputs, registry, inputs));
    CHECK(std::ranges::equal(inputs.floats(x), before));
    CHECK(run.arena_intact());
    return program.arena_bytes();
  }
};

TEST_CASE("a value is written over an input that nobody reads later") {
  Fixture f;
  ValueId value = f.x;
  for (int i = 0; i < 4; ++i) value = f.activation(value);
  CHECK(f.arena_of({value}) == kTensor);
}

TEST_CASE("a sum takes the storage of whichever term dies") {
  Fixture f;
  const ValueId kept = f.activation(f.x), dying = f.activation(kept, ActivationKind::kSigmoid);
  const ValueId sum = f.sum({kept, dying});
  CHECK(f.arena_of({f.sum({sum, kept})}) == 2 * kTensor);
}

TEST_CASE("a value may be several terms of the sum that is written over it") {
  Fixture f;
  const ValueId value = f.activation(f.x);
  CHECK(f.arena_of({f.activation(f.sum({value, value, value}))}) == kTensor);
}

TEST_CASE("an input that another node reads later is not written over") {
  Fixture f;
  const ValueId first = f.activation(f.x), second = f.activation(first);
  CHECK(f.arena_of({f.sum({f.activation(second), first})}) == 2 * kTensor);
}

TEST_CASE("an input that is read later under another name is not written over") {
  Fixture f;
  const ValueId first = f.activation(f.x), other_name = f.reshape(first, Shape{4, 4});
  const ValueId second = f.activation(first);
  CHECK(f.arena_of({f.sum({f.reshape(second, Shape{4, 4}), other_name})}) == 2 * kTensor);
}

TEST_CASE("a value is written over an input that dies under another name") {
  Fixture f;
  const ValueId first = f.activation(f.x);
  const ValueId second = f.activation(f.reshape(first, Shape{4, 4}));
  CHECK(f.arena_of({f.activation(f.reshape(second, Shape{16}))}) == kTensor);
}

TEST_CASE("outputs and inputs of the program keep what they hold") {
  Fixture f;
  const ValueId first = f.activation(f.x), second = f.activation(first);
  const ValueId first_again = f.reshape(first, Shape{2, 8}), x_again = f.reshape(f.x, Shape{8, 2});
  CHECK(f.arena_of({first, second, first_again, x_again, f.activation(f.sum({first, second}))}) == kTensor);
}

TEST_CASE("an input of another size is not written over") {
  Fixture f;
  const ValueId narrow = f.graph.apply_one(ops::Cast(DType::kBfloat16), {f.activation(f.x)});
  const ValueId wide = f.graph.apply_one(ops::Cast(DType::kFloat32), {narrow});
  CHECK(f.arena_of({f.activation(wide)}) == kTensor + kTensor / 2);
}

/// A graph of `nodes` random nodes over tensors of 16 elements a row, and some of its values as outputs.
std::vector<ValueId> make_random_graph(Fixture& f, unsigned seed, int nodes) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  const ValueId kernel = f.graph.variable({"kernel", Shape{16, 16}});
  std::vector<ValueId> values{f.x};
  const auto any = [&] {  // late ones rather than early ones
    const std::size_t back = std::min(below(values.size()), below(values.size()));
    return values[values.size() - 1 - back];
  };
  const auto flat = [&](ValueId value) { return f.reshape(value, Shape{16}); };
  const ActivationKind kinds[] = {ActivationKind::kRelu, ActivationKind::kSigmoid, ActivationKind::kGelu};
  for (int i = 0; i < nodes; ++i) {
    const ActivationKind kind = kinds[below(3)];
    switch (below(8)) {
      case 0: values.push_back(f.reshape(any(), below(2) == 0 ? Shape{4, 4} : Shape{2, 8})); break;
      case 1: values.push_back(f.activation(any(), kind)); break;
      case 2: {
        const ValueId from = flat(any());
        values.push_back(f.graph.apply_one(ops::ActivationGradient(kind), {from, flat(any())}));
        break;
      }
      case 3: {
        const ValueId narrow = f.graph.apply_one(ops::Cast(DType::kBfloat16), {any()});
        const ValueId more = f.graph.apply_one(ops::AddN(), {narrow, narrow});
        values.push_back(f.graph.apply_one(ops::Cast(DType::kFloat32), {below(2) == 0 ? narrow : more}));
        break;
      }
      case 4: values.push_back(f.graph.apply_one(ops::Dropout(0.5f, 3), {any()})); break;
      case 5:
        values.push_back(f.graph.apply_one(ops::Dense(kind == ActivationKind::kGelu ? ActivationKind::kLinear : kind),
                                           {flat(any()), kernel, kNoValue}));
        break;
      default: {
        std::vector<ValueId> terms;
        for (std::size_t term = 0; term < 2 + below(3); ++term) terms.push_back(flat(any()));
        values.push_back(f.sum(std::move(terms)));
      }
    }
  }
  std::vector<ValueId> outputs{values.back()};
  for (std::size_t i = 0; i < 3; ++i) {
    const ValueId output = any();
    if (std::ranges::count(outputs, output) == 0 && output != f.x) outputs.push_back(output);
  }
  return outputs;
}

TEST_CASE("whatever shares storage, a program's outputs have the bits that the nodes give on their own") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Fixture f;
    f.arena_of(make_random_graph(f, seed, 5 + static_cast<int>(seed % 30)), seed);
  }
}

}  // namespace
}  // namespace mirrortrain
