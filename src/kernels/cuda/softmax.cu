#include "graph/ops/elementwise.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/team.h"
#include "kernels/scalar/math.h"

namespace mirrortrain::cuda {
namespace {

template <class Team, class T>
__global__ void __launch_bounds__(kBlock) softmax(std::int64_t rows, std::int64_t classes, const T* x, T* y) {
  const Team team;
  for (std::int64_t row = team.first(); row < rows; row += team.step()) {
    const T* from = x + row * classes;
    T* to = y + row * classes;
    float largest = -INFINITY, sum = 0;
    each_element(team, classes, [&](std::int64_t i) {
      const auto value = static_cast<float>(from[i]);
      largest = value > largest ? value : largest;
    });
    largest = team_max(team, largest);
    each_element(team, classes, [&](std::int64_t i) { sum += scalar::exp(static_cast<float>(from[i]) - largest); });
    const float scale = 1.0f / team_sum(team, sum);
    each_element(team, classes,
                 [&](std::int64_t i) { to[i] = T(scalar::exp(static_cast<float>(from[i]) - largest) * scale); });
  }
}

/// dx = y (dy - sum(y dy))
template <class Team, class T>
__global__ void __launch_bounds__(kBlock)
    softmax_gradient(std::int64_t rows, std::int64_t classes, const T* y, const T* dy, T* dx) {
  const Team team;
  for (std::int64_t row = team.first(); row < rows; row += team.step()) {
    const std::int64_t at = row * classes;
    float dot = 0;
    each_element(team, classes,
                 [&](std::int64_t i) { dot += static_cast<float>(y[at + i]) * static_cast<float>(dy[at + i]); });
    dot = team_sum(team, dot);
    each_element(team, classes, [&](std::int64_t i) {
      dx[at + i] = T(static_cast<float>(y[at + i]) * (static_cast<float>(dy[at + i]) - dot));
    });
  }
}

std::unique_ptr<Kernel> make_softmax(const ops::Softmax& op, const KernelSpecs& specs) {
  const std::int64_t classes = specs.inputs[0].shape.back();
  const std::int64_t rows = classes == 0 ? 0 : specs.inputs[0].elements() / classes;
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([=](Stream& stream, const KernelArgs& args) {
      with_team(classes, [&]<class Team>(Team) {
        launch(stream, blocks_for(rows, kBlock / Team::kThreads), kBlock, 0, softmax<Team, T>, rows, classes,
               input<T>(args, 0), output<T>(args, 0));
      });
    });
  });
}

std::unique_ptr<Kernel> make_softmax_gradient(const ops::SoftmaxGradient& op, const KernelSpecs& specs) {
  const std::int64_t classes = specs.inputs[0].shape.back();
  const std::int64_t rows = classes == 0 ? 0 : specs.inputs[0].elements() / classes;
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([=](Stream& stream, const KernelArgs& args) {
      with_team(classes, [&]<class Team>(Team) {
        launch(stream, blocks_for(rows, kBlock / Team::kThreads), kBlock, 0, softmax_gradient<Team, T>, rows, classes,
               input<T>(args, 0), input<T>(args, 1), output<T>(args, 0));
      });
    });
  });
}

}  // namespace

void add_softmax_kernels(KernelRegistry& registry) {
  registry.add<ops::Softmax>(make_softmax);
  registry.add<ops::SoftmaxGradient>(make_softmax_gradient);
}

}  // namespace mirrortrain::cuda
