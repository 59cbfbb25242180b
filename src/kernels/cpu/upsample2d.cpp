#include "graph/ops/upsample2d.h"

#include "kernels/cpu/pool2d.h"
#include "kernels/cpu/registry.h"
#include "kernels/scalar/upsample2d.h"

namespace mirrortrain::cpu {
namespace {

using scalar::UpsampleShape;

std::unique_ptr<Kernel> make_upsample(const ops::Upsample2d& op, const KernelSpecs& specs) {
  const UpsampleShape s(op, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([s, threads = specs.threads](const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      for_cells(threads, s.rows, s.lines.output(), s.columns.output(), s.channels, [&](const Cell& out) {
        each_vector(s.channels, [&](std::int64_t c, auto part) {
          Vec sum{};
          scalar::each_source(s, out, [&](float share, std::int64_t at) { sum += get(x + at + c, part) * share; });
          put(y + out.offset + c, sum, part);
        });
      });
    });
  });
}

std::unique_ptr<Kernel> make_upsample_gradient(const ops::Upsample2dGradient& op, const KernelSpecs& specs) {
  const UpsampleShape s(op, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([s, threads = specs.threads](const KernelArgs& args) {
      const T* dy = input<T>(args, 0);
      T* dx = output<T>(args, 0);
      for_cells(threads, s.rows, s.lines.input, s.columns.input, s.channels, [&](const Cell& in) {
        each_vector(s.channels, [&](std::int64_t c, auto part) {
          Vec sum{};
          scalar::each_made_of(s, in, [&](float share, std::int64_t at) { sum += get(dy + at + c, part) * share; });
          put(dx + in.offset + c, sum, part);
        });
      });
    });
  });
}

}  // namespace

void add_upsample2d_kernels(KernelRegistry& registry) {
  registry.add<ops::Upsample2d>(make_upsample);
  registry.add<ops::Upsample2dGradient>(make_upsample_gradient);
}

}  // namespace mirrortrain::cpu
