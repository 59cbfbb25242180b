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

/// One copy for each input.
template <class ArrangeOp>
std::unique_ptr<Kernel> make_copies(const ArrangeOp& op, const KernelSpecs& specs) {
  const std::vector<CopyWalk> copies = scalar::copies_of(op, specs.inputs, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([=, threads = specs.threads, count = specs.outputs[0].elements()](const KernelArgs& args) {
      T* y = output<T>(args, 0);
      if (scalar::kLeavesGaps<ArrangeOp>) {
        parallel_for(threads, count, kThreadGrain, [=](std::int64_t begin, std::int64_t end) {
          std::memset(static_cast<void*>(y + begin), 0, static_cast<std::size_t>(end - begin) * sizeof(T));
        });
      }
      for (std::size_t i = 0; i < copies.size(); ++i) copy(copies[i], threads, input<T>(args, i), y);
    });
  });
}

}  // namespace

void add_arrange_kernels(KernelRegistry& registry) {
  registry.add<ops::Pad>(make_copies<ops::Pad>);
  registry.add<ops::Crop>(make_copies<ops::Crop>);
  registry.add<ops::Concatenate>(make_copies<ops::Concatenate>);
  registry.add<ops::Transpose>(make_copies<ops::Transpose>);
  registry.add<ops::Flip>(make_copies<ops::Flip>);
}

}  // namespace mirrortrain::cpu
