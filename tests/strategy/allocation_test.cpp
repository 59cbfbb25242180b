// No memory is allocated inside a step: full batches, tails and evaluation.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <execinfo.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
#include <string_view>

#include "config/document.h"
#include "data/loading/load.h"
#include "data/one_spec.h"
#include "kernels/cpu/backend.h"
#include "model/build_described.h"
#include "strategy/mirrored/mirrored_strategy.h"
#include "strategy/variables/variable_rules.h"

namespace {

std::atomic<std::int64_t> allocations = 0;
std::atomic<bool> counting = false;
std::atomic<void*> first_caller = nullptr;

/// oneDNN keeps a few small tables of its own per execution, and may make its strings through this program's copy of
/// std::string's functions; everybody else's allocations count.
bool is_library() {
  void* frames[8];
  const int depth = ::backtrace(frames, 8);
  return std::any_of(frames, frames + depth, [](void* frame) {
    Dl_info info{};
    return ::dladdr(frame, &info) != 0 && std::string_view(info.dli_fname).find("libdnnl") != std::string_view::npos;
  });
}

void* counted(std::size_t bytes, void* caller) {
  if (counting && !is_library() && allocations++ == 0) first_caller = caller;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return counted(bytes, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, __builtin_return_address(0));
}
// Not inline: GCC would take free for the wrong partner of operator new.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace mirrortrain {
namespace {

struct Described {
  data::DataOptions data;
  ModelOptions model;
  LossOptions loss;
  MetricOptions metrics;
  static config::Section<Described> section() {
    return config::Section<Described>("A model and its data.")
        .key("data", &Described::data, "Data.")
        .key("model", &Described::model, "Model.")
        .key("loss", &Described::loss, "Loss.")
        .key("metrics", &Described::metrics, "Metrics.");
  }
};

constexpr const char* kText = R"(
data:
  global_batch_size: 12
  train: {format: synthetic, examples: 32, shape: [9, 9, 3], classes: 4}
model:
  input_shape: [9, 9, 3]
  layers:
    - conv2d: {filters: 17, kernel_size: 3, padding: same, activation: relu}
    - batch_normalization
    - activation: {activation: gelu}
    - conv2d: {filters: 16, kernel_size: 3, strides: 2}
    - batch_normalization: {synchronized: true}
    - max_pooling2d
    - dropout: {rate: 0.5}
    - flatten
    - dense: {units: 8, activation: tanh}
    - dense: {units: 4}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
)";

struct Variant {
  Precision precision = Precision::kFloat32;
  StrategyOptions options;
  GradientOptions gradients;
  VariableUpdate update{scalar::Adam{}, {}};
};

std::vector<Variant> variants() {
  std::vector<Variant> all(5);
  all[1].precision = Precision::kMixedBfloat16;
  all[2].options.cross_device_ops = CrossDeviceOps::kReductionToOneDevice;
  all[2].options.communication.bytes_per_pack = config::Size{4096};
  all[2].gradients.aggregation_method = AggregationMethod::kTree;
  all[3].options.cross_device_ops = CrossDeviceOps::kRing;
  all[3].gradients.clip_norm = 1;
  all[3].gradients.accumulate_steps = 2;
  all[4].update = {scalar::Adafactor{}, {.is_scaled = true}, 0.5};
  return all;
}

TEST_CASE("steps allocate nothing") {
  for (const Variant& test : variants()) {
    config::Errors errors;
    config::Document document = config::load_text(kText, "test", {}, errors);
    const auto described = config::read<Described>(document, errors);
    Model model = build_described(described.model, described.loss, described.metrics, test.precision, errors,
                                  test.gradients.aggregation_method);
    errors.throw_if_any();
    for (ModelVariable& variable : model.variables) variable.update = test.update;
    const data::Splits splits = data::load(described.data, 0, nullptr);
    const data::Feeder feeder(splits.train, {}, data::OneSpec{Shape{9, 9, 3}, Shape{}, DType::kInt32, 4});

    Topology topology;
    topology.lanes = {{{DeviceId::Kind::kCpu, 0}, 1, {}, {0, 1}}, {{DeviceId::Kind::kCpu, 1}, 1, {}, {2}}};
    topology.mesh.data = 3;
    topology.cores_of_their_own = false;
    MirroredParts parts;
    parts.options = test.options;
    parts.gradients = test.gradients;
    config::Errors none;
    for (const ResolvedVariable& variable : resolve_variables(model, {}, StrategyType::kMirrored, none)) {
      parts.policies.push_back(variable.policy);
    }
    StateOptions counter;
    counter.name = "counter";
    counter.aggregation = Aggregation::kSum;
    counter.assign_add = {StateValue(std::int64_t{1}), {}, ""};
    parts.state.push_back({counter, {}, "state[0]"});
    parts.backend = {std::shared_ptr<void>(), &cpu::backend()};
    MirroredStrategy strategy(topology, model, parts);
    strategy.prepare({{12, 8, 2}, {12, 8}, {}});

    std::vector<std::int64_t> rows(12);
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    allocations = 0;
    counting = true;
    for (const std::size_t size : {12u, 8u, 2u}) {
      strategy.train({&feeder, std::span(rows).first(size), 1, 1, 1, true, false, 1, 0.001});
      strategy.take_sums();
    }
    for (const std::size_t size : {12u, 8u}) {
      strategy.evaluate({&feeder, std::span(rows).first(size)});
      strategy.take_sums();
    }
    counting = false;
    Dl_info info{};
    if (first_caller != nullptr) ::dladdr(first_caller, &info);
    const auto offset = static_cast<char*>(first_caller.load()) - static_cast<char*>(info.dli_fbase);
    CHECK_MESSAGE(allocations == 0, "the first from ", std::string(info.dli_fname), " at ", offset);
  }
}

}  // namespace
}  // namespace mirrortrain
