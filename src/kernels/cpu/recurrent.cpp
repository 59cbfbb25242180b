#include "kernels/scalar/recurrent.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/simd_elements.h"
#include "kernels/cpu/transpose.h"
#include "kernels/scalar/activations.h"

namespace mirrortrain::cpu {
namespace {

// Rows that a thread takes through all steps together: their gates stay in the second-level cache beside the kernel.
constexpr std::int64_t kRowsTogether = 64;

using ops::Cell;

/// An activation's functions on a row, in place: values become the outputs, gradients those of the inputs.
struct RowActivation {
  void (*forward)(float* values, std::int64_t count);
  void (*backward)(const float* outputs, float* gradients, std::int64_t count);

  explicit RowActivation(ops::ActivationKind kind) {
    scalar::with_activation(kind, [this]<class Kind>(Kind) {
      forward = [](float* values, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) values[i] = Kind::forward(values[i]);
      };
      backward = [](const float* outputs, float* gradients, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) gradients[i] = Kind::backward(outputs[i], gradients[i]);
      };
    });
  }
};

/// Every gate in whole vectors; what lies beyond the units is finite and multiplied by nothing but zeros.
struct Recurrence : scalar::RecurrentShape {
  RowActivation activation, recurrent_activation;

  Recurrence(const ops::RecurrentAttributes& attributes, const Shape& states)
      : RecurrentShape(attributes, states),
        activation(attributes.activation),
        recurrent_activation(attributes.recurrent_activation) {}

  std::int64_t wide() const { return padded(units); }
  std::int64_t columns() const { return gates * wide(); }
  /// Columns of the first product of a step.
  std::int64_t first_columns() const { return (products == 2 ? 2 : gates) * wide(); }
};

/// Calls body(first, count) for the panels of columns that `multiply` takes at a time.
template <class Body>
void each_panel(std::int64_t begin, std::int64_t end, const Body& body) {
  for (; begin < end; begin += panel_columns()) body(begin, std::min(panel_columns(), end - begin));
}

/// A row of all gates, each in whole vectors.
void copy_gates(const Recurrence& r, const float* from, float* to) {
  for (std::int64_t gate = 0; gate < r.gates; ++gate, from += r.units, to += r.wide()) {
    each_vector(r.units, [&](std::int64_t i, auto part) { store(to + i, part.load(from + i)); });
  }
}

/// The recurrent kernel in panels of columns, each [units][columns of the panel], so that a panel's lines do not drive
/// each other out of the first-level cache. A product's columns begin with a panel. `row`: columns() floats.
void pack_kernel(const Recurrence& r, const float* kernel, float* row, float* packed) {
  for (std::int64_t unit = 0; unit < r.units; ++unit) {
    copy_gates(r, kernel + unit * r.gates * r.units, row);
    const auto copy = [&](std::int64_t first, std::int64_t count) {
      std::copy_n(row + first, count, packed + first * r.units + unit * count);
    };
    each_panel(0, r.first_columns(), copy);
    each_panel(r.first_columns(), r.columns(), copy);
  }
}

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

/// `value` as it is stored in T.
inline Vec as_stored(const Vec& value, float) { return value; }
inline Vec as_stored(const Vec& value, bfloat16) {
  bfloat16 stored[kLanes];
  put(stored, value, Whole{});
  return get(stored, Whole{});
}

/// Parts of a workspace, as offsets in floats: what all threads read, then each thread's own.
struct FloatLayout : WorkspaceLayout {
  std::size_t floats(std::int64_t count) {
    return add(static_cast<std::size_t>(count) * sizeof(float)) / sizeof(float);
  }
};

struct StatesLayout : FloatLayout {
  std::size_t gates, state, cell, row;

  explicit StatesLayout(const Recurrence& r)
      : gates(floats(kRowsTogether * r.columns())),
        state(floats(kRowsTogether * r.wide())),
        cell(floats(kRowsTogether * r.wide())),
        row(floats(r.wide())) {}
};

/// Some rows' way through all steps. For a GRU `cell_` holds the state after its reset.
template <class T>
class States {
 public:
  States(const Recurrence& recurrence, const StatesLayout& layout, const KernelArgs& args, const float* kernel,
         const float* bias, float* workspace)
      : r(recurrence),
        projected_(input<T>(args, 0)),
        states_(output<T>(args, 0)),
        saved_(output<float>(args, 1)),
        kernel_(kernel),
        bias_(bias),
        gates_(workspace + layout.gates),
        state_(workspace + layout.state),
        cell_(workspace + layout.cell),
        row_(workspace + layout.row) {}

  void operator()(std::int64_t first, std::int64_t count) const {
    std::fill_n(state_, count * r.wide(), 0.0f);
    std::fill_n(cell_, count * r.wide(), 0.0f);
    for (std::int64_t step = 0; step < r.steps; ++step) {
      multiply_state(count, state_, 0, r.first_columns());
      if (r.op.cell == Cell::kGruResetBefore) {
        for (std::int64_t i = 0; i < count; ++i) reset_state(i, first + i, step);
        multiply_state(count, cell_, r.first_columns(), r.columns());
      }
      for (std::int64_t i = 0; i < count; ++i) {
        r.op.cell == Cell::kLstm ? lstm(i, first + i, step) : gru(i, first + i, step);
      }
    }
  }

 private:
  float* gates_of(std::int64_t i) const { return gates_ + i * r.columns(); }
  const T* projected(std::int64_t row, std::int64_t step) const {
    return projected_ + r.at(row, r.read_by(step), r.gates);
  }

  /// Columns [begin, end) of the gates: left · kernel + bias.
  void multiply_state(std::int64_t count, const float* left, std::int64_t begin, std::int64_t end) const {
    each_panel(begin, end, [&](std::int64_t first, std::int64_t columns) {
      multiply(count, columns, r.units, Scalars{left, r.wide(), 1}, {kernel_ + first * r.units, columns},
               {gates_ + first, r.columns()}, {.bias = bias_ ? bias_ + first : nullptr});
    });
  }

  /// Adds the input's part to the gates in [gate, end).
  void add_input(float* gates, const T* x, std::int64_t gate, std::int64_t end) const {
    for (; gate < end; ++gate) {
      float* const to = gates + gate * r.wide();
      each_vector(r.units,
                  [&](std::int64_t i, auto part) { store(to + i, load(to + i) + get(x + gate * r.units + i, part)); });
    }
  }

  void save(std::int64_t row, std::int64_t step, std::int64_t number, const float* from) const {
    if (saved_ == nullptr) return;
    float* const to = saved_ + r.at(row, step, r.saved) + number * r.units;
    each_vector(r.units, [&](std::int64_t i, auto part) { part.store(to + i, load(from + i)); });
  }

  /// The new state: state(i), a vector from the unit i on.
  template <class State>
  void set_state(std::int64_t i, std::int64_t row, std::int64_t step, const State& state) const {
    T* const to = states_ ? states_ + r.at(row, step, 1) : nullptr;
    each_vector(r.units, [&](std::int64_t unit, auto part) {
      const Vec value = state(unit);
      store(state_ + i * r.wide() + unit, as_stored(value, T{}));
      if (to) put(to + unit, value, part);
    });
  }

  void lstm(std::int64_t i, std::int64_t row, std::int64_t step) const {
    float* const gates = gates_of(i);
    const std::int64_t wide = r.wide();
    add_input(gates, projected(row, step), 0, 4);
    r.recurrent_activation.forward(gates, 2 * wide);
    r.activation.forward(gates + 2 * wide, wide);
    r.recurrent_activation.forward(gates + 3 * wide, wide);
    float* const cell = cell_ + i * wide;
    for (std::int64_t unit = 0; unit < wide; unit += kLanes) {
      const float* const at = gates + unit;
      const Vec value = scalar::lstm_cell(load(at), load(at + wide), load(at + 2 * wide), load(cell + unit));
      store(cell + unit, value);
      store(row_ + unit, value);
    }
    r.activation.forward(row_, wide);
    set_state(i, row, step,
              [&](std::int64_t unit) -> Vec { return load(gates + 3 * wide + unit) * load(row_ + unit); });
    for (std::int64_t gate = 0; gate < 4; ++gate) save(row, step, gate, gates + gate * wide);
    save(row, step, 4, cell);
  }

  /// The gates of update and reset of a GRU, and what the reset leaves of the state.
  void reset_state(std::int64_t i, std::int64_t row, std::int64_t step) const {
    float* const gates = gates_of(i);
    const std::int64_t wide = r.wide();
    add_input(gates, projected(row, step), 0, 2);
    r.recurrent_activation.forward(gates, 2 * wide);
    for (std::int64_t unit = 0; unit < wide; unit += kLanes) {
      const std::int64_t at = i * wide + unit;
      store(cell_ + at, load(gates + wide + unit) * load(state_ + at));
    }
  }

  void gru(std::int64_t i, std::int64_t row, std::int64_t step) const {
    float *const gates = gates_of(i), *const candidate = gates + 2 * r.wide();
    const std::int64_t wide = r.wide();
    if (r.op.cell == Cell::kGru) {
      reset_state(i, row, step);
      save(row, step, 3, candidate);
      for (std::int64_t unit = 0; unit < wide; unit += kLanes) {
        store(candidate + unit, load(candidate + unit) * load(gates + wide + unit));
      }
    }
    add_input(gates, projected(row, step), 2, 3);
    r.activation.forward(candidate, wide);
    set_state(i, row, step, [&](std::int64_t unit) {
      return scalar::gru_state(load(gates + unit), load(candidate + unit), load(state_ + i * wide + unit));
    });
    for (std::int64_t gate = 0; gate < 3; ++gate) save(row, step, gate, gates + gate * wide);
  }

  const Recurrence& r;
  const T* projected_;
  T* states_;
  float* saved_;
  const float *kernel_, *bias_;
  float *gates_, *state_, *cell_, *row_;
};

struct StatesGradientLayout : FloatLayout {
  std::size_t gates, state, cell, before, row;

  explicit StatesGradientLayout(const Recurrence& r)
      : gates(floats(kRowsTogether * r.columns())),
        state(floats(kRowsTogether * r.wide())),
        cell(floats(kRowsTogether * r.wide())),
        before(floats(r.wide())),
        row(floats(r.wide())) {}
};

/// Some rows' way back through all steps. `gates_`: gradients of what the recurrent products give to the gates;
/// `state_`: the gradient of the state after the step, in which only later steps count. `cell_`: an LSTM's gradient of
/// the cell likewise; a GRU's gradient of the state after its reset.
template <class T>
class StatesGradient {
 public:
  StatesGradient(const Recurrence& recurrence, const StatesGradientLayout& layout, const KernelArgs& args,
                 const float* transposed, float* workspace)
      : r(recurrence),
        states_(input<T>(args, 1)),
        saved_(input<float>(args, 2)),
        gradient_(input<T>(args, 3)),
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
        r.op.cell == Cell::kLstm ? lstm(i, first + i, step) : gru(i, first + i, step);
      }
      if (r.op.cell == Cell::kGruResetBefore) {
        multiply_gates(count, 2 * wide, 3 * wide, cell_, false);
        for (std::int64_t i = 0; i < count; ++i) reset_before(i, first + i, step);
      }
      if (step > 0) multiply_gates(count, 0, r.first_columns(), state_, r.op.cell != Cell::kLstm);
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

  /// Blocks of `units` numbers from blocks of whole vectors.
  void write(T* to, const float* from, std::int64_t blocks) const {
    for (; to && blocks > 0; --blocks, to += r.units, from += r.wide()) {
      each_vector(r.units, [&](std::int64_t unit, auto part) { put(to + unit, load(from + unit), part); });
    }
  }
  void write_zeros(T* to, std::int64_t blocks) const {
    if (to) std::fill_n(to, blocks * r.units, T(0.0f));
  }
  /// Where the step of the input has its numbers in an output, null where nobody reads that.
  T* to(T* output, std::int64_t row, std::int64_t step, std::int64_t of_a_unit) const {
    return output ? output + r.at(row, r.read_by(step), of_a_unit) : nullptr;
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
    if (r.op.cell == Cell::kGruResetBefore) return;  // the gradient of the reset gate needs a product first
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
  T *projected_, *left_, *right_;
  const float* transposed_;
  float *gates_, *state_, *cell_, *before_, *row_;
};

/// Threads share the rows, each with a workspace of its own behind what all of them read; what a row gives never
/// depends on the others.
template <class Body>
void each_rows(const Recurrence& r, int threads, const Body& body) {
  parallel_parts(threads, r.rows, 1, [&](int part, std::int64_t begin, std::int64_t end) {
    const std::int64_t blocks = (end - begin + kRowsTogether - 1) / kRowsTogether;
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t first = begin + (end - begin) * block / blocks;
      body(part, first, begin + (end - begin) * (block + 1) / blocks - first);
    }
  });
}

std::size_t parts_of(const Recurrence& r, int threads) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(r.rows, 1, threads));
}
float* floats_at(std::byte* workspace, std::size_t offset) { return reinterpret_cast<float*>(workspace + offset); }

std::unique_ptr<Kernel> make_recurrent(const ops::Recurrent& op, const KernelSpecs& specs) {
  const Recurrence r(op, specs.outputs[0].shape);
  const StatesLayout own(r);
  FloatLayout all;
  const std::size_t kernel = all.floats(r.units * r.columns()), bias = all.floats(r.columns()), shared = all.bytes();
  const bool with_bias = specs.inputs.size() > 2 && specs.input_present[2];
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=, threads = specs.threads](const KernelArgs& args) {
      float* const workspace = floats_at(args.workspace, 0);
      pack_kernel(r, input<float>(args, 1), workspace + bias, workspace + kernel);
      if (with_bias) copy_gates(r, input<float>(args, 2), workspace + bias);
      each_rows(r, threads, [&](int part, std::int64_t first, std::int64_t count) {
        const States<T> states(r, own, args, workspace + kernel, with_bias ? workspace + bias : nullptr,
                               floats_at(args.workspace, shared + static_cast<std::size_t>(part) * own.bytes()));
        states(first, count);
      });
    };
    return loop_kernel(body, shared + parts_of(r, specs.threads) * own.bytes());
  });
}

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

void add_recurrent_kernels(KernelRegistry& registry) {
  registry.add<ops::Recurrent>(make_recurrent);
  registry.add<ops::RecurrentGradient>(make_recurrent_gradient);
}

}  // namespace mirrortrain::cpu
