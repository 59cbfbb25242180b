// What the GPU's convolutions would run is chosen and compiled here for a described H200: a shape that cuDNN refuses
// fails on a machine without a GPU.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/ops/dense.h"
#include "kernels/conv2d_geometries.h"
#include "kernels/cuda/backend.h"
#include "kernels/cuda/conv_with_sums.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/cuda/merge.h"
#include "skip.h"

using namespace mirrortrain;
using testing::Conv2dGeometry;

namespace {

constexpr auto kSame = ops::Padding::kSame;
constexpr auto kRelu = ops::ActivationKind::kRelu;

/// The convolutions of networks that the examples and benchmarks train.
const Conv2dGeometry kNetworks[] = {
    {{28, 28, 1}, {3, 3, 1, 32}, {}, true, kRelu},
    {{13, 13, 32}, {3, 3, 32, 64}, {}, true, kRelu},
    {{32, 32, 3}, {3, 3, 3, 16}, {.padding = kSame}, false},
    {{32, 32, 16}, {3, 3, 16, 32}, {.strides = {2, 2}, .padding = kSame}, false},
    {{224, 224, 3}, {7, 7, 3, 64}, {.strides = {2, 2}, .padding = kSame}, false},
    {{56, 56, 64}, {1, 1, 64, 256}, {}, false},
    {{56, 56, 64}, {3, 3, 64, 64}, {.padding = kSame}, false},
    {{56, 56, 256}, {1, 1, 256, 512}, {.strides = {2, 2}}, false},
    {{56, 56, 128}, {3, 3, 128, 128}, {.strides = {2, 2}, .padding = kSame}, false},
    {{14, 14, 256}, {3, 3, 256, 256}, {.padding = kSame}, false},
    {{14, 14, 512}, {3, 3, 512, 512}, {.strides = {2, 2}, .padding = kSame}, false},
    {{7, 7, 512}, {1, 1, 512, 2048}, {}, false},
    {{14, 14, 512}, {3, 3, 1, 512}, {.padding = kSame, .groups = 512}, true, kRelu},
};

std::string described_gpu() {
  std::ifstream file(MIRRORTRAIN_SOURCE_DIR "/tests/kernels_cuda_libraries/h200.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

KernelRegistry registry(const cuda::MathOptions& options = {}) {
  return cuda::make_kernel_registry_for(described_gpu(), options);
}

TensorView view(DType dtype, Shape shape) { return {dtype, std::move(shape), nullptr}; }

KernelSpecs specs(std::vector<TensorView> inputs, std::vector<TensorView> outputs) {
  KernelSpecs made;
  for (const TensorView& input : inputs) made.input_present.push_back(input.shape != Shape{0});
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  return made;
}

struct Kernels {
  std::unique_ptr<Kernel> forward, input_gradient, weight_gradient;
};

Kernels make(const KernelRegistry& registry, const Conv2dGeometry& g, DType dtype, std::int64_t rows) {
  const ValueSpec inferred[] = {{dtype, g.image, true}, {DType::kFloat32, g.kernel, false}};
  const ops::Conv2d op(g.attributes, g.activation);
  const TensorView x = view(dtype, g.image.with_rows(rows)), kernel = view(DType::kFloat32, g.kernel);
  const TensorView y = view(dtype, op.infer(inferred)[0].shape.with_rows(rows));
  const TensorView bias = view(DType::kFloat32, g.with_bias ? Shape{g.kernel[3]} : Shape{0});
  std::vector<TensorView> gradients{kernel};
  if (g.with_bias) gradients.push_back(bias);
  return {registry.make(op, specs({x, kernel, bias}, {y})),
          registry.make(ops::Conv2dInputGradient(g.attributes, g.image), specs({y, kernel}, {x})),
          registry.make(ops::Conv2dWeightGradient(g.attributes, g.kernel, g.with_bias), specs({x, y}, gradients))};
}

std::string title(const Conv2dGeometry& g, DType dtype, std::int64_t rows) {
  return fmt::format("{} images {} with {}, strides {}, {} groups, {}", rows, g.image.text(), g.kernel.text(),
                     g.attributes.strides[0], g.attributes.groups, name_of(dtype));
}

void check_plans(const cuda::MathOptions& options, std::span<const Conv2dGeometry> geometries,
                 std::initializer_list<std::int64_t> batches) {
  const KernelRegistry all = registry(options);
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const Conv2dGeometry& g : geometries) {
      for (const std::int64_t rows : batches) {
        INFO(title(g, dtype, rows));
        CHECK_NOTHROW(make(all, g, dtype, rows));
      }
    }
  }
}

}  // namespace

TEST_CASE("cuDNN has a plan for every convolution of the op's table, forward and backward") {
  for (const bool tf32 : {true, false}) {
    for (const bool deterministic : {true, false}) {
      INFO("tf32 " << tf32 << ", deterministic " << deterministic);
      check_plans({tf32, deterministic}, testing::kSmall, {5, 1});
      check_plans({tf32, deterministic}, testing::kLarge, {5, 1});
    }
  }
}

TEST_CASE("cuDNN has a plan for the networks that are trained here") {
  for (const bool tf32 : {true, false}) check_plans({.tf32 = tf32}, kNetworks, {128, 1});
}

namespace {

/// A convolution of ResNet-50, and its graph at 256 images in bfloat16.
struct Layer {
  std::int64_t size, in, out, kernel, stride;

  std::int64_t out_size() const { return (size + stride - 1) / stride; }
  cuda::ConvolutionWindow window() const {
    const std::int64_t pad = std::max<std::int64_t>(0, (out_size() - 1) * stride + kernel - size);
    return {{stride, stride}, {1, 1}, {pad / 2, pad / 2}, {pad - pad / 2, pad - pad / 2}};
  }
  cuda::TensorId x(cuda::CudnnGraph& graph) const { return graph.tensor(DType::kBfloat16, {256, in, size, size}); }
  cuda::TensorId w(cuda::CudnnGraph& graph) const { return graph.tensor(DType::kBfloat16, {out, in, kernel, kernel}); }
  cuda::TensorId y(cuda::CudnnGraph& graph) const {
    return graph.tensor(DType::kBfloat16, {256, out, out_size(), out_size()});
  }
  std::string title() const {
    return fmt::format("{} x {} x {} to {} filters of {}, stride {}", size, size, in, out, kernel, stride);
  }
};

std::vector<Layer> resnet50() {
  std::vector<Layer> layers{{224, 3, 64, 7, 2}, {56, 64, 64, 1, 1}};
  std::int64_t in = 64, size = 56;
  for (const std::int64_t width : {64, 128, 256, 512}) {
    const std::int64_t stride = width == 64 ? 1 : 2, out = 4 * width, half = size / stride;
    layers.insert(layers.end(), {{size, in, width, 1, 1},
                                 {size, width, width, 3, stride},
                                 {half, width, out, 1, 1},
                                 {size, in, out, 1, stride},
                                 {half, out, width, 1, 1},
                                 {half, width, width, 3, 1}});
    in = out;
    size = half;
  }
  return layers;
}

}  // namespace

TEST_CASE("ResNet-50's convolutions in bfloat16 run on tensor cores, forward and backward") {
  cuda::Cudnn cudnn(described_gpu(), {});
  for (const Layer& l : resnet50()) {
    for (const int direction : {0, 1, 2}) {
      cuda::CudnnGraph graph;
      const auto x = l.x(graph), w = l.w(graph), y = l.y(graph);
      if (direction == 0) graph.convolution(l.window(), x, w, y);
      if (direction == 1) graph.convolution_data_gradient(l.window(), y, w, x);
      if (direction == 2) graph.convolution_filter_gradient(l.window(), x, y, w);
      const std::string name = graph.plan(cudnn).name();
      INFO(fmt::format("{}, direction {}: {}", l.title(), direction, name));
      CHECK(name.find("tensor cores") != std::string::npos);
    }
  }
}

namespace {

bool lacks_compiler() {
  const auto is_found = [](const char* library) { return dlopen(library, RTLD_NOW) != nullptr; };
  return testing::skip_without(is_found("libcuda.so.1"), "a driver, to which cuDNN gives what it has compiled") ||
         testing::skip_without(is_found("libnvrtc.so.13") || is_found("libnvrtc.so.12"),
                               "NVRTC, which cuDNN compiles with");
}

/// A convolution and its normalization at 256 images, with the specs of a kernel for it.
struct Normalized {
  cuda::Conv2dBatchNorm op;
  KernelSpecs specs;

  Normalized(const Layer& l, bool with_bias)
      : op(ops::Conv2d({.strides = {l.stride, l.stride}, .padding = kSame}), ops::BatchNorm(0.9f, 1e-3f), false) {
    const auto out = l.out_size();
    const TensorView y = view(DType::kBfloat16, {256, out, out, l.out}), vector = view(DType::kFloat32, {l.out});
    specs = ::specs(
        {view(DType::kBfloat16, {256, l.size, l.size, l.in}), view(DType::kFloat32, {l.kernel, l.kernel, l.in, l.out}),
         view(DType::kFloat32, with_bias ? Shape{l.out} : Shape{0}), vector, vector, vector, vector},
        {y, vector, vector, vector, vector, y});
  }
};

}  // namespace

TEST_CASE("ResNet-50's convolutions in bfloat16 can leave the sums of their channels, in kernels that are compiled") {
  if (lacks_compiler()) return;
  cuda::Cudnn cudnn(described_gpu(), {.deterministic = false}), fixed_order(described_gpu(), {});
  const std::vector<Layer> layers = resnet50();
  const char* const all = std::getenv("MIRRORTRAIN_TEST_ALL_PLANS");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    // Compiling takes a while: one of each kind, 1 x 1 and 3 x 3, with stride and without.
    if (all == nullptr && i != 1 && i != 3 && i != 9 && i != 11) continue;
    const Layer& l = layers[i];
    INFO(l.title());
    cuda::CudnnGraph graph;
    const auto x = l.x(graph), w = l.w(graph), y = l.y(graph);
    graph.convolution(l.window(), x, w, y);
    graph.channel_sums(y, graph.result({1, l.out, 1, 1}), graph.result({1, l.out, 1, 1}));
    CHECK_THROWS_WITH_AS(graph.plans(cudnn, 1), doctest::Contains("compiles its kernels late"), Error);
    CHECK_THROWS_WITH_AS(graph.plans(fixed_order, 1, true), doctest::Contains("in no fixed order"), Error);
    const auto start = std::chrono::steady_clock::now();
    const auto found = graph.plans(cudnn, 1, true);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (all != nullptr) {
      fmt::print("{}: {}, workspace {}, {:.1f} s\n", l.title(), found[0].name(), found[0].workspace_bytes(),
                 seconds.count());
    }
    CHECK(found[0].name().find("compiled at run time") != std::string::npos);
    CHECK(found[0].workspace_bytes() <= cudnn.options().most_workspace_bytes);
    const cuda::CudnnPlan another = found[0].another();
    CHECK(another.workspace_bytes() == found[0].workspace_bytes());
    CHECK(another.name() == found[0].name());
  }
}

TEST_CASE("kernels of convolutions with normalizations have plans with sums, with a bias too, that are compiled") {
  if (lacks_compiler()) return;
  const auto cudnn = std::make_shared<cuda::Cudnn>(described_gpu(), cuda::MathOptions{.deterministic = false});
  const Layer layer{14, 64, 128, 3, 1};
  for (const bool with_bias : {false, true}) {
    INFO("bias " << with_bias);
    const Normalized n(layer, with_bias);
    std::vector<cuda::CudnnPlan> plans = cuda::plans_with_sums(n.op, n.specs, *cudnn, 1);
    REQUIRE(plans.size() == 1);
    CHECK(plans[0].name().find("compiled at run time") != std::string::npos);
    const std::size_t of_plan = plans[0].workspace_bytes();
    const auto kernel = cuda::make_with_sums(n.op, n.specs, cudnn, std::move(plans[0]));
    CHECK(kernel->workspace_bytes() >= of_plan + 2 * 128 * sizeof(float));
    CHECK(kernel->derived_form(1)->bytes == 3 * 3 * 64 * 128 * sizeof(bfloat16));
    CHECK(kernel->derived_form(2).has_value() == with_bias);
  }
  CHECK(cuda::problem_with_sums(Normalized(layer, true).op, Normalized(layer, true).specs) !=
        cuda::problem_with_sums(Normalized(layer, false).op, Normalized(layer, false).specs));

  const Normalized odd({14, 3, 5, 3, 1}, false);
  CHECK_NOTHROW(cuda::plans_with_sums(odd.op, odd.specs, *cudnn, 1));
}

TEST_CASE("a plan's workspace is known, and a derived weight has the images' dtype") {
  const KernelRegistry all = registry();
  const Conv2dGeometry& g = kNetworks[1];
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    const Kernels kernels = make(all, g, dtype, 128);
    const std::size_t weight = static_cast<std::size_t>(g.kernel.elements()) * size_of(dtype);
    CHECK(kernels.forward->derived_form(1)->bytes == weight);
    CHECK(kernels.forward->derived_form(1)->key == kernels.input_gradient->derived_form(1)->key);
    CHECK_FALSE(kernels.forward->derived_form(0));
    CHECK(kernels.forward->derived_form(2).has_value() == (dtype == DType::kBfloat16));
    CHECK_FALSE(kernels.weight_gradient->derived_form(0));
    CHECK(kernels.weight_gradient->workspace_bytes() >= weight);
    CHECK(kernels.forward->workspace_bytes() < (std::size_t{256} << 20));
  }
}

TEST_CASE("a filter's gradient as cuDNN makes it needs no room beside its plan's") {
  const Conv2dGeometry& g = kNetworks[1];
  const KernelRegistry all = registry();
  const TensorView x = view(DType::kFloat32, g.image.with_rows(128)), kernel = view(DType::kFloat32, g.kernel);
  const TensorView dy = view(DType::kFloat32, {128, 11, 11, 64});
  const ops::Conv2dWeightGradient op(g.attributes, g.kernel, false);
  const auto canonical = all.make(op, specs({x, dy}, {kernel}));
  const auto ohwi = all.make(cuda::Conv2dOhwiWeightGradient(op), specs({x, dy}, {kernel}));
  CHECK(canonical->workspace_bytes() - ohwi->workspace_bytes() == kernel.bytes());
  const Kernels float32 = make(all, g, DType::kFloat32, 128), rounded = make(all, g, DType::kBfloat16, 128);
  CHECK_FALSE(float32.forward->derived_form(1)->of_out_first->refresh);  // the variable itself
  CHECK(rounded.forward->derived_form(1)->of_out_first->is_rounded);     // by the update
}

TEST_CASE("a plan keeps to the workspace it may have, in place of a faster one that would not") {
  const Conv2dGeometry& stem = kNetworks[4];
  const auto workspace = [&](std::size_t most) {
    return make(registry({.most_workspace_bytes = most}), stem, DType::kFloat32, 256)
        .weight_gradient->workspace_bytes();
  };
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  CHECK(workspace(2048 * kMiB) > 512 * kMiB);
  CHECK(workspace(512 * kMiB) <= 513 * kMiB);  // the passes' part comes on top
  CHECK(workspace(16 * kMiB) <= 17 * kMiB);
}

TEST_CASE("on a described GPU, where nothing can be measured, the plans are those that cuDNN thinks fastest") {
  const KernelRegistry measuring = registry({.autotune = true}), plain = registry();
  for (const Conv2dGeometry& g : kNetworks) {
    const Kernels found = make(measuring, g, DType::kBfloat16, 32), expected = make(plain, g, DType::kBfloat16, 32);
    CHECK(found.forward->workspace_bytes() == expected.forward->workspace_bytes());
    CHECK(found.input_gradient->workspace_bytes() == expected.input_gradient->workspace_bytes());
    CHECK(found.weight_gradient->workspace_bytes() == expected.weight_gradient->workspace_bytes());
  }
}

TEST_CASE("a convolution of no rows asks cuDNN for nothing") {
  for (const Conv2dGeometry& g : testing::kSmall) {
    CHECK(make(registry(), g, DType::kFloat32, 0).forward->workspace_bytes() == 0);
  }
}

TEST_CASE("what cuDNN refuses is told with the op, the dtype and the shapes") {
  const ops::Conv2d op({});
  const auto x = view(DType::kInt32, {2, 5, 5, 3}), kernel = view(DType::kFloat32, {3, 3, 3, 4});
  CHECK_THROWS_WITH_AS(
      registry().make(op, specs({x, kernel, view(DType::kFloat32, {0})}, {view(DType::kInt32, {2, 3, 3, 4})})),
      doctest::Contains("conv2d on cuda (int32, images 2 x 5 x 5 x 3, 4 filters 3 x 3 x 3)"), Error);
}

TEST_CASE("a described GPU has no algorithms for matrix multiplications, and a wrong description is refused") {
  const auto x = view(DType::kFloat32, {2, 3}), kernel = view(DType::kFloat32, {3, 4});
  CHECK_THROWS_AS(registry().make(ops::Dense(), specs({x, kernel}, {view(DType::kFloat32, {2, 4})})), Error);
  CHECK_THROWS_AS(cuda::make_kernel_registry_for("{", {}), Error);
}
