#include "runtime/program.h"

#include <doctest/doctest.h>

#include <array>
#include <optional>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "graph/ops/collective.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain {
namespace {

/// y = x + x + ... with as many terms as inputs.
class AddKernel : public Kernel {
 public:
  explicit AddKernel(bool wants_derived) : wants_derived_(wants_derived) {}
  std::size_t workspace_bytes() const override { return 100; }
  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    if (!wants_derived_ || input != 0) return std::nullopt;
    return DerivedForm{"tenfold", 4 * sizeof(float), [](Stream&, const TensorView& from, std::byte* to) {
                         for (int i = 0; i < 4; ++i) reinterpret_cast<float*>(to)[i] = 10 * from.as<float>()[i];
                       }};
  }
  void enqueue(Stream&, const KernelArgs& args) override {
    for (std::size_t i = 0; i < args.outputs[0].span<float>().size(); ++i) {
      float sum = 0;
      for (const TensorView& input : args.inputs) sum += input.as<float>()[i];
      args.outputs[0].as<float>()[i] = sum;
    }
  }

 private:
  bool wants_derived_;
};

KernelRegistry registry_of_adds(bool wants_derived = false) {
  KernelRegistry registry("test");
  registry.add<ops::AddN>(
      [=](const ops::AddN&, const KernelSpecs&) { return std::make_unique<AddKernel>(wants_derived); });
  return registry;
}

struct Fixture {
  Graph graph;
  ValueId x = graph.input("x", {DType::kFloat32, Shape{2}, true});
  std::unique_ptr<Device> device = make_cpu_device(0, 1, {});
  std::unique_ptr<Stream> stream = device->make_stream();
  std::array<float, 4> input{1, 2, 3, 4}, output{};
  Buffer arena;

  void run(const Program& program, ValueId result, std::vector<std::byte*> derived = {}) {
    arena = device->allocate(program.arena_bytes());
    Bindings bindings;
    bindings.values.resize(graph.values().size());
    bindings.values[static_cast<std::size_t>(x)] = reinterpret_cast<std::byte*>(input.data());
    bindings.values[static_cast<std::size_t>(result)] = reinterpret_cast<std::byte*>(output.data());
    bindings.derived = std::move(derived);
    bindings.arena = arena.data();
    BoundProgram(program, bindings).enqueue(*stream);
  }
};

TEST_CASE("a program computes its outputs through the arena") {
  Fixture f;
  const ValueId twice = f.graph.apply_one(ops::AddN(), {f.x, f.x});
  const ValueId result = f.graph.apply_one(ops::AddN(), {twice, twice, f.x});
  const KernelRegistry registry = registry_of_adds();
  const Program program(f.graph, 2, {result}, registry, 1);
  f.run(program, result);
  CHECK(f.output == std::array<float, 4>{5, 10, 15, 20});
}

TEST_CASE("nodes that no output needs are left out") {
  Fixture f;
  const ValueId result = f.graph.apply_one(ops::AddN(), {f.x, f.x});
  const ValueId unused = f.graph.apply_one(ops::AddN(), {result, result});
  f.graph.apply_one(ops::Cast(DType::kBfloat16), {unused});  // has no kernel here
  const KernelRegistry registry = registry_of_adds();
  const Program program(f.graph, 2, {result}, registry, 1);
  f.run(program, result);
  CHECK(f.output == std::array<float, 4>{2, 4, 6, 8});
}

TEST_CASE("an output that is another name for an input or another output is copied") {
  Fixture f;
  const ValueId reshaped = f.graph.apply_one(ops::Reshape(Shape{2, 1}), {f.x});
  const KernelRegistry registry = registry_of_adds();
  const Program program(f.graph, 2, {reshaped}, registry, 1);
  f.run(program, reshaped);
  CHECK(f.output == f.input);
}

TEST_CASE("a derived form of an input that is no variable is made before the kernel runs") {
  Fixture f;
  const ValueId result = f.graph.apply_one(ops::AddN(), {f.x, f.x});
  const KernelRegistry registry = registry_of_adds(true);
  const Program program(f.graph, 2, {result}, registry, 1);
  CHECK(program.derived_copies().empty());
  f.run(program, result);
  CHECK(f.output == std::array<float, 4>{11, 22, 33, 44});
}

TEST_CASE("a variable's derived form is bound from outside, once for all kernels that want it") {
  Fixture f;
  const ValueId variable = f.graph.variable({"v", Shape{4}});
  const ValueId flat = f.graph.apply_one(ops::AddN(), {variable, variable});
  const ValueId result = f.graph.apply_one(ops::AddN(), {variable, flat});
  const KernelRegistry registry = registry_of_adds(true);
  const Program program(f.graph, 2, {result}, registry, 1);
  REQUIRE(program.derived_copies().size() == 1);
  CHECK(program.derived_copies()[0].variable == variable);
}

TEST_CASE("a program knows the first step that reads a variable, or its derived form") {
  for (const bool derived : {false, true}) {
    Fixture f;
    const ValueId early = f.graph.variable({"early", Shape{4}}), late = f.graph.variable({"late", Shape{4}}),
                  unread = f.graph.variable({"unread", Shape{4}});
    const ValueId first = f.graph.apply_one(ops::AddN(), {early, early});
    const ValueId second = f.graph.apply_one(ops::AddN(), {first, early});
    const ValueId result = f.graph.apply_one(ops::AddN(), {late, second});
    const KernelRegistry registry = registry_of_adds(derived);
    const Program program(f.graph, 2, {result}, registry, 1);
    CHECK(program.first_read(early) == 0);
    CHECK(program.first_read(late) == 2);
    CHECK(program.first_read(unread) == std::nullopt);
    CHECK(Program(f.graph, 2, {result, late}, registry, 1).first_read(late) == 2);
  }
}

TEST_CASE("a missing kernel is an error that names layer, op and backend") {
  Fixture f;
  f.graph.set_layer("stem");
  const ValueId result = f.graph.apply_one(ops::Cast(DType::kBfloat16), {f.x});
  const KernelRegistry registry = registry_of_adds();
  CHECK_THROWS_WITH_AS(Program(f.graph, 2, {result}, registry, 1), "layer stem: cast has no kernel on test (float32)",
                       Error);
}

TEST_CASE("a collective whose input is not complete at the end of a segment is refused") {
  const auto refused = [](const auto& build) {
    Graph graph;
    graph.set_layer("norm");
    const ValueId v = graph.variable({"v", Shape{2}, true});
    const std::vector<ValueId> outputs = build(graph, v);
    const KernelRegistry registry = registry_of_adds();
    CHECK_THROWS_WITH_AS(Program(graph, 1, outputs, registry, 1),
                         "layer norm: all_reduce: its input must be computed by an op, and be an output of the program "
                         "once alone",
                         Error);
  };
  const auto sum = [](Graph& graph, ValueId of) { return graph.apply_one(ops::AllReduce(ops::Axis::kData), {of}); };
  refused([&](Graph& graph, ValueId v) { return std::vector{v, graph.apply_one(ops::AddN(), {sum(graph, v), v})}; });
  refused([&](Graph& graph, ValueId v) {
    const ValueId own = graph.apply_one(ops::AddN(), {v, v}), total = sum(graph, own);
    return std::vector{own, total, graph.apply_one(ops::AddN(), {sum(graph, total), v})};
  });
}

TEST_CASE("a collective ends a segment of the program, and the next one reads what its places make of it") {
  Graph graph;
  const ValueId v = graph.variable({"v", Shape{2}, true});
  const ValueId own = graph.apply_one(ops::AddN(), {v, v});
  const ValueId total = graph.apply_one(ops::AllReduce(ops::Axis::kData), {own});
  const ValueId out = graph.apply_one(ops::AddN(), {total, v});
  const KernelRegistry registry = registry_of_adds();
  const Program program(graph, 1, {out, own}, registry, 1);
  CHECK(program.steps() == 2);
  CHECK(program.segment_ends() == std::vector<std::size_t>{1});
  CHECK(program.complete_after(own) == 1);
  CHECK(Program(graph, 1, {out}, registry, 1).steps() == 1);  // who runs it computes the total alone

  const std::unique_ptr<Device> device = make_cpu_device(0, 1, {});
  const std::unique_ptr<Stream> stream = device->make_stream();
  std::array<std::array<float, 2>, 2> values{{{1, 2}, {10, 20}}}, owns{}, outs{};
  std::array<float, 2> sum{};
  std::vector<BoundProgram> places;
  for (std::size_t place = 0; place < 2; ++place) {
    Bindings bindings;
    bindings.values.resize(graph.values().size());
    const auto bind = [&](ValueId id, std::array<float, 2>& to) {
      bindings.values[index(id)] = reinterpret_cast<std::byte*>(to.data());
    };
    bind(v, values[place]);
    bind(own, owns[place]);
    bind(total, sum);
    bind(out, outs[place]);
    places.emplace_back(program, bindings);
  }
  for (BoundProgram& place : places) place.enqueue(*stream, 0, 1);
  stream->synchronize();
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = owns[0][i] + owns[1][i];
  for (BoundProgram& place : places) place.enqueue(*stream, 1, 2);
  stream->synchronize();
  CHECK(outs[0] == std::array<float, 2>{23, 46});
  CHECK(outs[1] == std::array<float, 2>{32, 64});
}

}  // namespace
}  // namespace mirrortrain
