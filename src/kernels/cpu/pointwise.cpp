#include "kernels/scalar/pointwise.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/walk.h"

namespace mirrortrain::cpu {
namespace {

using scalar::PointwiseProgram;

/// Elements that go through all steps together: enough for the loops, few enough that the cache, which loads ahead
/// while the first steps of these are computed, has the next ones by the time a last step reads them.
constexpr std::int64_t kTogether = 256;

/// An operand's elements, or one that stands for all.
struct Elements {
  const float* at = nullptr;
  bool is_one = false;
};

struct Input {
  Walk<1> walk;
  DType dtype;
  bool is_one() const { return walk.axes == 1 && walk.stride[0][0] == 0; }
};

/// Writes the input's elements at [begin, begin + count) of the output.
template <class T>
void gather(const Walk<1>& walk, const T* from, std::int64_t begin, std::int64_t count, float* to) {
  const std::int64_t line = walk.extent[walk.axes - 1], step = walk.stride[walk.axes - 1][0];
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t elements = std::min(count - done, line - (begin + done) % line);
    const T* const first = from + walk.place(begin + done).at[0];
    for (std::int64_t i = 0; i < elements; ++i) to[done + i] = static_cast<float>(first[i * step]);
    done += elements;
  }
}

/// A thread's run through a part of the output. One class for all types of elements: what computes is large, and has
/// float32 alone.
class Run {
 public:
  Run(const PointwiseProgram& program, const std::vector<Input>& inputs, const KernelArgs& args, DType written,
      float* scratch)
      : program_(program), inputs_(inputs), args_(args), written_(written), scratch_(scratch) {}

  static std::int64_t scratch_floats(const PointwiseProgram& program) {
    return (program.slots + program.inputs + 3) * kTogether;
  }

  void part(std::int64_t begin, std::int64_t end) {
    for (; begin < end; begin += count_) {
      count_ = std::min(kTogether, end - begin);
      for (int i = 0; i < program_.inputs; ++i) read(i, begin);
      float* const in_place = written_ == DType::kFloat32 ? output<float>(args_, 0) + begin : nullptr;
      for (int i = 0; i < program_.steps; ++i) {
        const PointwiseProgram::Step& step = program_.step[i];
        float* const slot = scratch_ + step.to * kTogether;
        const bool is_last = in_place != nullptr && i + 1 == program_.steps && step.to == program_.result;
        run(step, is_last ? in_place : slot);
      }
      if (in_place != nullptr) {
        write(in_place);
      } else {
        write(output<bfloat16>(args_, 0) + begin);
      }
    }
  }

 private:
  float* of_input(int number) { return scratch_ + (program_.slots + number) * kTogether; }

  void read(int number, std::int64_t begin) {
    const Input& input = inputs_[static_cast<std::size_t>(number)];
    Elements& elements = read_[number];
    elements = {of_input(number), input.is_one()};
    const std::int64_t count = elements.is_one ? 1 : count_;
    if (input.dtype == DType::kBfloat16) {
      gather(input.walk, cpu::input<bfloat16>(args_, static_cast<std::size_t>(number)), begin, count, of_input(number));
    } else if (const float* const x = cpu::input<float>(args_, static_cast<std::size_t>(number));
               scalar::is_dense(input.walk)) {
      elements.at = x + begin;
    } else {
      gather(input.walk, x, begin, count, of_input(number));
    }
  }

  Elements elements(int operand) const {
    if (operand >= PointwiseProgram::kFirstInput) return read_[operand - PointwiseProgram::kFirstInput];
    if (operand >= PointwiseProgram::kFirstConstant) {
      return {program_.constant + (operand - PointwiseProgram::kFirstConstant), true};
    }
    return slot_[operand];
  }

  /// As many as the block has.
  const float* spread(Elements elements, int place) {
    if (!elements.is_one) return elements.at;
    float* const to = of_input(program_.inputs + place);
    std::fill(to, to + count_, *elements.at);
    return to;
  }

  void run(const PointwiseProgram::Step& step, float* __restrict to) {
    const Elements a = elements(step.a), b = step.operands > 1 ? elements(step.b) : a,
                   c = step.operands > 2 ? elements(step.c) : a;
    const bool is_one = a.is_one && b.is_one && c.is_one;
    const std::int64_t count = is_one ? 1 : count_;
    slot_[step.to] = {to, is_one};
    switch (ops::operands_of(step.code)) {
      case 1: return run_of_one(step, a, b, c, count, to);
      case 2: return run_of_two(step, a, b, count, to);
      default: return run_of_three(step, spread(a, 0), spread(b, 1), spread(c, 2), count, to);
    }
  }

  void run_of_one(const PointwiseProgram::Step& step, Elements of, Elements times, Elements plus, std::int64_t count,
                  float* __restrict to) {
    const float* const a = step.operands > 1 ? spread(of, 0) : of.at;
    const float* const b = step.operands > 1 ? spread(times, 1) : nullptr;
    const float* const c = step.operands > 2 ? spread(plus, 2) : nullptr;
    scalar::with_code_of_one(step.code,
                             [&](auto function) { each(function, step.before, step.factor, a, b, c, count, to); });
  }

  /// With the function in the loops, so that they become vector code.
  template <class Function>
  [[gnu::flatten]] static void each(Function function, float before, float factor, const float* a, const float* b,
                                    const float* c, std::int64_t count, float* __restrict to) {
    if (b == nullptr) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = factor * function(before * a[i]);
    } else if (c == nullptr) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = factor * function(before * a[i]) * b[i];
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = factor * function(before * a[i]) * b[i] + c[i];
    }
  }

  void run_of_two(const PointwiseProgram::Step& step, Elements a, Elements b, std::int64_t count,
                  float* __restrict to) {
    scalar::with_code_of_two(step.code, [&, factor = step.factor](auto function) {
      if (a.is_one) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = factor * function(*a.at, b.is_one ? *b.at : b.at[i]);
      } else if (b.is_one) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = factor * function(a.at[i], *b.at);
      } else {
        for (std::int64_t i = 0; i < count; ++i) to[i] = factor * function(a.at[i], b.at[i]);
      }
    });
  }

  void run_of_three(const PointwiseProgram::Step& step, const float* a, const float* b, const float* c,
                    std::int64_t count, float* __restrict to) {
    const float factor = step.factor;
    if (step.code == ops::PointwiseCode::kMultiplyAdd) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = factor * (a[i] * b[i] + c[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = factor * (a[i] != 0.0f ? b[i] : c[i]);
    }
  }

  template <class T>
  void write(T* y) {
    const Elements result = elements(program_.result);
    if constexpr (std::is_same_v<T, float>) {
      if (result.at == y && !result.is_one) return;
    }
    const float first = *result.at;
    for (std::int64_t i = 0; i < count_; ++i) y[i] = T(result.is_one ? first : result.at[i]);
  }

  const PointwiseProgram& program_;
  const std::vector<Input>& inputs_;
  const KernelArgs& args_;
  DType written_;
  float* scratch_;
  std::int64_t count_ = 0;
  Elements read_[ops::Pointwise::kMostInputs], slot_[PointwiseProgram::kMostSlots];
};

std::unique_ptr<Kernel> make_pointwise(const ops::Pointwise& op, const KernelSpecs& specs) {
  const auto program = std::make_shared<const PointwiseProgram>(scalar::program_of(op.function));
  const Shape& shape = specs.outputs[0].shape;
  std::vector<Input> inputs;
  for (const TensorView& input : specs.inputs)
    inputs.push_back({scalar::walk_of_input(input.shape, shape), input.dtype});
  // A thread is worth starting for fewer elements than of a copy.
  const std::int64_t grain =
      std::max<std::int64_t>(kTogether, kThreadGrain / (1 + program->steps) / kTogether * kTogether);
  const std::int64_t scratch = Run::scratch_floats(*program);
  return for_float_type(op, op.dtype, [&](auto) {
    const auto body = [=, count = shape.elements(), threads = specs.threads,
                       written = op.dtype](const KernelArgs& args) {
      auto* const workspace = reinterpret_cast<float*>(args.workspace);
      parallel_parts(threads, count, grain, [&](int part, std::int64_t begin, std::int64_t end) {
        Run(*program, inputs, args, written, workspace + part * scratch).part(begin, end);
      });
    };
    return loop_kernel(body, static_cast<std::size_t>(scratch * specs.threads) * sizeof(float));
  });
}

}  // namespace

void add_pointwise_kernels(KernelRegistry& registry) { registry.add<ops::Pointwise>(make_pointwise); }

}  // namespace mirrortrain::cpu
