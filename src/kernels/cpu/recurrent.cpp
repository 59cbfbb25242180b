#include "kernels/cpu/recurrent.h"

namespace mirrortrain::cpu {
namespace {

/// The recurrent kernel in panels of columns, each [units][columns of the panel], so that a panel's lines do not evict
/// each other from the first-level cache. The columns of a matrix multiplication begin with a panel. `row`: columns()
/// floats.
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

/// `value` as it is stored in T.
inline Vec as_stored(const Vec& value, float) { return value; }
inline Vec as_stored(const Vec& value, bfloat16) {
  bfloat16 stored[kLanes];
  put(stored, value, Whole{});
  return get(stored, Whole{});
}

struct StatesLayout : FloatLayout {
  std::size_t gates, state, cell, row;

  explicit StatesLayout(const Recurrence& r)
      : gates(floats(kRowsTogether * r.columns())),
        state(floats(kRowsTogether * r.wide())),
        cell(floats(kRowsTogether * r.wide())),
        row(floats(r.wide())) {}
};

/// Runs some rows through all time steps. For a GRU `cell_` holds the state after its reset.
template <class T>
class States {
 public:
  States(const Recurrence& recurrence, const StatesLayout& layout, const KernelArgs& args, const float* kernel,
         const float* bias, float* workspace)
      : r(recurrence),
        projected_(input<T>(args, 0)),
        states_(output<T>(args, 0)),
        saved_(output<float>(args, 1)),
        mask_(input<float>(args, 3)),
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
      if (r.op.cell == ops::Cell::kGruResetBefore) {
        for (std::int64_t i = 0; i < count; ++i) reset_state(i, first + i, step);
        multiply_state(count, cell_, r.first_columns(), r.columns());
      }
      for (std::int64_t i = 0; i < count; ++i) {
        if (!r.counts(mask_, first + i, step)) {
          keep_state(i, first + i, step);
        } else {
          take_step(i, first + i, step);
        }
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

  /// For a time step that does not count. Of the saved values, only an LSTM's cell is read.
  void keep_state(std::int64_t i, std::int64_t row, std::int64_t step) const {
    set_state(i, row, step, [&](std::int64_t unit) { return load(state_ + i * r.wide() + unit); });
    std::fill_n(row_, r.wide(), 0.0f);
    for (std::int64_t number = 0; number < r.saved; ++number) {
      save(row, step, number, number == 4 ? cell_ + i * r.wide() : row_);
    }
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
    float* const gate = gates_of(i);
    add_input(gate, projected(row, step), 0, 1);
    r.activation.forward(gate, r.wide());
    set_state(i, row, step, [&](std::int64_t unit) { return load(gate + unit); });
    save(row, step, 0, gate);
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

  /// The update and reset gates of a GRU, and the state after the reset.
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
    if (r.op.cell == ops::Cell::kGru) {
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
  const float* mask_;
  const float *kernel_, *bias_;
  float *gates_, *state_, *cell_, *row_;
};

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

}  // namespace

void add_recurrent_kernels(KernelRegistry& registry) { registry.add<ops::Recurrent>(make_recurrent); }

}  // namespace mirrortrain::cpu
