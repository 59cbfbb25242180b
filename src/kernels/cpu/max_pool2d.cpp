#include <limits>

#include "kernels/cpu/pool2d.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

template <class T>
void max_pool(const PoolShape& s, bool relu, int threads, const T* x, T* y, std::uint8_t* positions) {
  const Vec floor = broadcast(relu ? 0.0f : -std::numeric_limits<float>::infinity());
  for_cells(threads, s.rows, s.lines.output, s.columns.output, s.channels, [&](const Cell& out) {
    const Range lines = s.lines.seen(out.y), columns = s.columns.seen(out.x);
    const auto at = [&](int line, int column) { return x + s.input_cell(out.row, line, column); };
    const auto number = [&](int line, int column) { return s.number(out.y, out.x, line, column); };
    each_vector(s.channels, [&](std::int64_t c, auto part) {
      Maximum maximum(get(at(lines.begin, columns.begin) + c, part), number(lines.begin, columns.begin));
      for (int line = lines.begin; line < lines.end; ++line) {
        for (int column = columns.begin; column < columns.end; ++column) {
          maximum.take(get(at(line, column) + c, part), number(line, column));
        }
      }
      if (y != nullptr) put(y + out.offset + c, maximum.value < floor ? floor : maximum.value, part);
      if (positions != nullptr) put(positions + out.offset + c, maximum.position, part);
    });
  });
}

/// Each input gathers from the windows that contain it, so that it is written once and the order of its sum is fixed.
template <class T>
void max_pool_gradient(const PoolShape& s, const Seeing& seeing, int threads, const T* dy,
                       const std::uint8_t* positions, const T* y, T* dx) {
  for_cells(threads, s.rows, s.lines.input, s.columns.input, s.channels, [&](const Cell& in) {
    each_vector(s.channels, [&](std::int64_t c, auto part) {
      Vec sum{};
      for_seeing(s, seeing, in, [&](int out_y, int out_x, std::int64_t offset) {
        const std::int32_t number = s.number(out_y, out_x, in.y, in.x);
        Vec gradient = get(dy + offset + c, part);
        if (y != nullptr) gradient = get(y + offset + c, part) > 0.0f ? gradient : Vec{};
        sum += get(positions + offset + c, part) == number ? gradient : Vec{};
      });
      put(dx + in.offset + c, sum, part);
    });
  });
}

std::unique_ptr<Kernel> make_max_pool(const ops::MaxPool2d& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.inputs[0].shape, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([shape, relu = op.relu, threads = specs.threads](const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      auto* positions = output<std::uint8_t>(args, 1);
      if (is_halving(shape) && y != nullptr) {
        halve(shape, relu, threads, x, y, positions);
      } else {
        max_pool(shape, relu, threads, x, y, positions);
      }
    });
  });
}

std::unique_ptr<Kernel> make_max_pool_gradient(const ops::MaxPool2dGradient& op, const KernelSpecs& specs) {
  const PoolShape shape(op, specs.outputs[0].shape, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel(
        [shape, seeing = Seeing(shape), relu = op.relu, threads = specs.threads](const KernelArgs& args) {
          const auto* positions = input<std::uint8_t>(args, 1);
          const T *dy = input<T>(args, 0), *y = relu ? input<T>(args, 2) : nullptr;
          T* dx = output<T>(args, 0);
          if (is_halving(shape)) {
            halve_gradient(shape, threads, dy, positions, y, dx);
          } else {
            max_pool_gradient(shape, seeing, threads, dy, positions, y, dx);
          }
        });
  });
}

}  // namespace

void add_max_pool2d_kernels(KernelRegistry& registry) {
  registry.add<ops::MaxPool2d>(make_max_pool);
  registry.add<ops::MaxPool2dGradient>(make_max_pool_gradient);
}

}  // namespace mirrortrain::cpu
