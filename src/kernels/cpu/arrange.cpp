#include "graph/ops/arrange.h"

#include <cstring>

#include "kernels/cpu/registry.h"
#include "kernels/cpu/walk.h"
#include "kernels/scalar/arrange.h"

namespace mirrortrain::cpu {
namespace {

using scalar::CopyWalk;

template <class T>
void copy(const CopyWalk& copy, int threads, const T* from, T* to) {
  from += copy.from_first;
  to += copy.to_first;
  const std::int64_t* last = copy.walk.stride[copy.walk.axes - 1];
  const std::int64_t from_step = last[0], to_step = last[1];
  for_stretches(copy.walk, threads, [=](const auto& place, std::int64_t elements) {
    const T* source = from + place.at[0];
    T* target = to + place.at[1];
    if (from_step == 1 && to_step == 1) {
      std::memcpy(target, source, static_cast<std::size_t>(elements) * sizeof(T));
    } else {
      for (std::int64_t i = 0; i < elements; ++i) target[i * to_step] = source[i * from_step];
    }
  });
}

/// One copy for each input; `with_zeros` where they leave gaps.
std::unique_ptr<Kernel> make_copies(const Op& op, const KernelSpecs& specs, const std::vector<CopyWalk>& copies,
                                    bool with_zeros = false) {
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([=, threads = specs.threads, count = specs.outputs[0].elements()](const KernelArgs& args) {
      T* y = output<T>(args, 0);
      if (with_zeros) {
        parallel_for(threads, count, kThreadGrain, [=](std::int64_t begin, std::int64_t end) {
          std::memset(static_cast<void*>(y + begin), 0, static_cast<std::size_t>(end - begin) * sizeof(T));
        });
      }
      for (std::size_t i = 0; i < copies.size(); ++i) copy(copies[i], threads, input<T>(args, i), y);
    });
  });
}

std::unique_ptr<Kernel> make_pad(const ops::Pad& op, const KernelSpecs& specs) {
  return make_copies(op, specs, {scalar::copy_into(specs.inputs[0].shape, specs.outputs[0].shape, op.before)}, true);
}

std::unique_ptr<Kernel> make_crop(const ops::Crop& op, const KernelSpecs& specs) {
  return make_copies(op, specs, {scalar::copy_out_of(specs.inputs[0].shape, specs.outputs[0].shape, op.before)});
}

std::unique_ptr<Kernel> make_concatenate(const ops::Concatenate& op, const KernelSpecs& specs) {
  std::vector<Shape> shapes;
  for (const TensorView& input : specs.inputs) shapes.push_back(input.shape);
  return make_copies(op, specs, scalar::copies_joined(op, shapes, specs.outputs[0].shape));
}

std::unique_ptr<Kernel> make_transpose(const ops::Transpose& op, const KernelSpecs& specs) {
  return make_copies(op, specs, {scalar::copy_transposed(specs.inputs[0].shape, specs.outputs[0].shape, op.axes)});
}

}  // namespace

void add_arrange_kernels(KernelRegistry& registry) {
  registry.add<ops::Pad>(make_pad);
  registry.add<ops::Crop>(make_crop);
  registry.add<ops::Concatenate>(make_concatenate);
  registry.add<ops::Transpose>(make_transpose);
}

}  // namespace mirrortrain::cpu
