#include "kernels/cpu/recurrent.h"
#include "kernels/cpu/transpose.h"

namespace mirrortrain::cpu {
namespace {

/// The transposed recurrent kernel in panels of its columns, the units: each [gates][wide][columns of the panel].
void pack_transposed_kernel(const Recurrence& r, const float* kernel, float* packed) {
  std::fill_n(packed, r.columns() * r.wide(), 0.0f);
  each_panel(0, r.wide(), [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t gate = 0; gate < r.gates; ++gate) {
      transpose(std::min(count, r.units - first), r.units, kernel + (first * r.gates + gate) * r.units,
                r.gates * r.units, packed + first * r.columns() + gate * r.wide() * count, count);
    }
  });
}

struct StatesGradientLayout : FloatLayout {
  std::size_t gates, state, cell, before, row;

  explicit StatesGradientLayout(const Recurrence& r)
      : gates(floats(kRowsTogether * r.columns())),
        state(floats(kRowsTogether * r.wide())),
        cell(floats(kRowsTogether * r.wide())),
        before(floats(r.wide())),
        row(floats(r.wide())) {}
};

/// Runs some rows backward through all time steps. `gates_`: gradients of the recurrent products' contribution to the
/// gates; `state_`: the gradient of the state after the time step, from later time steps only. `cell_`: likewise an
/// LSTM's gradient of the cell; a GRU's gradient of the state after its reset.
template <class T>
class StatesGradient {
 public:
  StatesGradient(const Recurrence& recurrence, const StatesGradientLayout& layout, const KernelArgs& args,
                 const float* transposed, float* workspace)
      : r(recurrence),
        states_(input<T>(args, 1)),
        saved_(input<float>(args, 2)),
        gradient_(input<T>(args, 3)),
        mask_(input<float>(args, 4)),
        projected_(output<T>(args, 0)),
        left_(output<T>(args, 1)),
        right_(args.outputs.size() > 2 ? output<T>(args, 2) : nullptr),
        transposed_(transposed),
        gates_(workspace + layout.gates),
        state_(workspace + layout.state),
        cell_(workspace + layout.cell),
        before_(workspace + layout.before),
        row_(workspace + layout.row) {}

  void operator()(std::int64_t first, std::int64_t count) const {
    const std::int64_t wide = r.wide();
    std::fill_n(state_, count * wide, 0.0f);
    std::fill_n(cell_, count * wide, 0.0f);
    for (std::int64_t step = r.steps - 1; step >= 0; --step) {
      for (std::int64_t i = 0; i < count; ++i) {
        if (!r.counts(mask_, first + i, step)) {
          keep_state(i, first + i, step);
        } else {
          take_step(i, first + i, step);
        }
      }
      if (r.op.cell == ops::Cell::kGruResetBefore) {
        multiply_gates(count, 2 * wide, 3 * wide, cell_, false);
        for (std::int64_t i = 0; i < count; ++i) {
          if (r.counts(mask_, first + i, step)) reset_before(i, first + i, step);
        }
      }
      // The state before may get its gradient only through the products, except where it was kept.
      const bool adds = !r.op.adds_products() || mask_ != nullptr;
      if (step > 0) multiply_gates(count, 0, r.first_columns(), state_, adds);
    }
  }

 private:
  float* gates_of(std::int64_t i) const { return gates_ + i * r.columns(); }
  /// The gradients of the gates' columns [begin, end), multiplied with the transposed kernel.
  void multiply_gates(std::int64_t count, std::int64_t begin, std::int64_t end, float* to, bool accumulate) const {
    each_panel(0, r.wide(), [&](std::int64_t first, std::int64_t units) {
      multiply(count, units, end - begin, Scalars{gates_ + begin, r.columns(), 1},
               {transposed_ + first * r.columns() + begin * units, units}, {to + first, r.wide()},
               {.accumulate = accumulate});
    });
  }
  const float* saved(std::int64_t row, std::int64_t step) const { return saved_ + r.at(row, step, r.saved); }

  /// Adds the gradient of the step's own output; copies the state before the step.
  void begin(std::int64_t i, std::int64_t row, std::int64_t step) const {
    const T* const gradient = gradient_ + r.at(row, step, 1);
    const T* const before = step > 0 ? states_ + r.at(row, step - 1, 1) : nullptr;
    float* const state = state_ + i * r.wide();
    each_vector(r.units, [&](std::int64_t unit, auto part) {
      store(state + unit, load(state + unit) + get(gradient + unit, part));
      store(before_ + unit, before ? get(before + unit, part) : Vec{});
    });
  }

  /// Writes blocks of `units` numbers from blocks of whole vectors.
  void write(T* to, const float* from, std::int64_t blocks) const {
    for (; to && blocks > 0; --blocks, to += r.units, from += r.wide()) {
      each_vector(r.units, [&](std::int64_t unit, auto part) { put(to + unit, load(from + unit), part); });
    }
  }
  void write_zeros(T* to, std::int64_t blocks) const {
    if (to) std::fill_n(to, blocks * r.units, T(0.0f));
  }
  /// The position of the input's time step in an output; null if the output is not read.
  T* to(T* output, std::int64_t row, std::int64_t step, std::int64_t of_a_unit) const {
    return output ? output + r.at(row, r.read_by(step), of_a_unit) : nullptr;
  }

  /// For a time step that does not count: the gradients of state and cell are passed on unchanged, those of the gates
  /// are zero.
  void keep_state(std::int64_t i, std::int64_t row, std::int64_t step) const {
    begin(i, row, step);
    std::fill_n(gates_of(i), r.columns(), 0.0f);
    write_zeros(to(projected_, row, step, r.gates), r.gates);
    write_zeros(to(left_, row, step, r.products), r.products);
    write_zeros(to(right_, row, step, r.products * r.gates), r.products * r.gates);
  }

  void take_step(std::int64_t i, std::int64_t row, std::int64_t step) const {
    switch (r.op.cell) {
      case ops::Cell::kLstm: return lstm(i, row, step);
      case ops::Cell::kSimple: return simple(i, row, step);
      case ops::Cell::kGru:
      case ops::Cell::kGruResetBefore: return gru(i, row, step);
    }
  }

  void simple(std::int64_t i, std::int64_t row, std::int64_t step) const {
    begin(i, row, step);
    float *const to_gate = gates_of(i), *const state = state_ + i * r.wide();
    std::copy_n(state, r.wide(), to_gate);
    r.activation.backward(saved(row, step), to_gate, r.units);
    write(to(projected_, row, step, 1), to_gate, 1);
    write(to(left_, row, step, 1), before_, 1);
    if (mask_ != nullptr) std::fill_n(state, r.wide(), 0.0f);
  }

  void lstm(std::int64_t i, std::int64_t row, std::int64_t step) const {
    begin(i, row, step);
    const std::int64_t wide = r.wide(), units = r.units;
    const float *const gate = saved(row, step), *const cell = gate + 4 * units;
    const float* const cell_before = step > 0 ? saved(row, step - 1) + 4 * units : nullptr;
    float *const to_gate = gates_of(i), *const to_cell = cell_ + i * wide, *const state = state_ + i * wide;
    // The activation of the cell, then the gradient of the cell from the state's.
    each_vector(units, [&](std::int64_t at, auto part) { store(row_ + at, part.load(cell + at)); });
    r.activation.forward(row_, units);
    each_vector(units, [&](std::int64_t at, auto part) {
      store(to_gate + 3 * wide + at, load(state + at) * load(row_ + at));
      store(state + at, load(state + at) * part.load(gate + 3 * units + at));
    });
    r.activation.backward(row_, state, units);
    each_vector(units, [&](std::int64_t at, auto part) {
      const scalar::LstmGradient<Vec> gradient(load(to_cell + at) + load(state + at), part.load(gate + at),
                                               part.load(gate + units + at), part.load(gate + 2 * units + at),
                                               cell_before ? part.load(cell_before + at) : Vec{});
      store(to_gate + at, gradient.input);
      store(to_gate + wide + at, gradient.forget);
      store(to_gate + 2 * wide + at, gradient.candidate);
      store(to_cell + at, gradient.before);
    });
    for (std::int64_t k = 0; k < 4; ++k) {
      const RowActivation& activation = k == 2 ? r.activation : r.recurrent_activation;
      activation.backward(gate + k * units, to_gate + k * wide, units);
    }
    write(to(projected_, row, step, 4), to_gate, 4);
    write(to(left_, row, step, 1), before_, 1);
    if (mask_ != nullptr) std::fill_n(state, wide, 0.0f);
  }

  void gru(std::int64_t i, std::int64_t row, std::int64_t step) const {
    begin(i, row, step);
    const std::int64_t wide = r.wide(), units = r.units;
    const float *const update = saved(row, step), *const reset = update + units, *const candidate = reset + units;
    float *const to_update = gates_of(i), *const to_reset = to_update + wide, *const to_candidate = to_reset + wide;
    float* const state = state_ + i * wide;
    each_vector(units, [&](std::int64_t at, auto part) {
      const scalar::GruGradient<Vec> gradient(load(state + at), part.load(update + at), part.load(candidate + at),
                                              load(before_ + at));
      store(to_update + at, gradient.update);
      store(to_candidate + at, gradient.candidate);
      store(state + at, gradient.before);
    });
    r.recurrent_activation.backward(update, to_update, units);
    r.activation.backward(candidate, to_candidate, units);
    if (r.op.cell == ops::Cell::kGruResetBefore) return;  // the gradient of the reset gate needs a product first
    const float* const inner = candidate + units;
    each_vector(units, [&](std::int64_t at, auto part) {
      store(to_reset + at, load(to_candidate + at) * part.load(inner + at));
    });
    r.recurrent_activation.backward(reset, to_reset, units);
    write(to(projected_, row, step, 3), to_update, 3);
    write(to(left_, row, step, 1), before_, 1);
    each_vector(units, [&](std::int64_t at, auto part) {
      store(to_candidate + at, load(to_candidate + at) * part.load(reset + at));
    });
    write(to(right_, row, step, 3), to_update, 3);
  }

  void reset_before(std::int64_t i, std::int64_t row, std::int64_t step) const {
    const std::int64_t wide = r.wide(), units = r.units;
    const float* const reset = saved(row, step) + units;
    const T* const before = step > 0 ? states_ + r.at(row, step - 1, 1) : nullptr;
    float *const to_update = gates_of(i), *const to_reset = to_update + wide;
    float *const state = state_ + i * wide, *const after_reset = cell_ + i * wide;
    each_vector(units, [&](std::int64_t at, auto part) {
      const Vec state_before = before ? get(before + at, part) : Vec{}, gate = part.load(reset + at);
      store(to_reset + at, load(after_reset + at) * state_before);
      store(state + at, load(state + at) + load(after_reset + at) * gate);
      store(before_ + at, state_before);
      store(row_ + at, gate * state_before);
    });
    r.recurrent_activation.backward(reset, to_reset, units);
    write(to(projected_, row, step, 3), to_update, 3);
    if (T* const left = to(left_, row, step, 2)) {
      write(left, before_, 1);
      write(left + units, row_, 1);
    }
    if (T* const right = to(right_, row, step, 6)) {
      write(right, to_update, 2);
      write_zeros(right + 2 * units, 3);
      write(right + 5 * units, to_update + 2 * wide, 1);
    }
  }

  const Recurrence& r;
  const T* states_;
  const float* saved_;
  const T* gradient_;
  const float* mask_;
  T *projected_, *left_, *right_;
  const float* transposed_;
  float *gates_, *state_, *cell_, *before_, *row_;
};

std::unique_ptr<Kernel> make_recurrent_gradient(const ops::RecurrentGradient& op, const KernelSpecs& specs) {
  const Recurrence r(op, specs.inputs[1].shape);
  const StatesGradientLayout own(r);
  FloatLayout all;
  const std::size_t transposed = all.floats(r.columns() * r.wide()), shared = all.bytes();
  return for_float_type(op, specs.inputs[1].dtype, [&]<class T>(T) {
    const auto body = [=, threads = specs.threads](const KernelArgs& args) {
      float* const kernel = floats_at(args.workspace, 0) + transposed;
      pack_transposed_kernel(r, input<float>(args, 0), kernel);
      each_rows(r, threads, [&](int part, std::int64_t first, std::int64_t count) {
        const StatesGradient<T> gradient(
            r, own, args, kernel, floats_at(args.workspace, shared + static_cast<std::size_t>(part) * own.bytes()));
        gradient(first, count);
      });
    };
    return loop_kernel(body, shared + parts_of(r, specs.threads) * own.bytes());
  });
}

}  // namespace

void add_recurrent_gradient_kernels(KernelRegistry& registry) {
  registry.add<ops::RecurrentGradient>(make_recurrent_gradient);
}

}  // namespace mirrortrain::cpu
