#include "keras/writing/write_optimizer_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "base/error.h"
#include "model/learning_rate.h"

namespace mirrortrain::keras {
namespace {

template <class Number>
StoredTensor tensor_of(DType dtype, Shape shape, const std::vector<Number>& values) {
  StoredTensor tensor{dtype, std::move(shape), {}};
  const auto bytes = std::as_bytes(std::span(values));
  tensor.data.assign(bytes.begin(), bytes.end());
  return tensor;
}

StoredTensor number_of(double value) {
  return tensor_of(DType::kFloat32, Shape{}, std::vector<float>{static_cast<float>(value)});
}

StoredTensor filled(const Shape& shape, float value) {
  return tensor_of(DType::kFloat32, shape, std::vector<float>(static_cast<std::size_t>(shape.elements()), value));
}

/// What of a state cannot be written.
class Unwritable : public Error {
 public:
  using Error::Error;
};

/// The slots of Keras's optimizers, in the order in which they make them: those of one list variable by variable.
/// Variables have only some of them.
using SlotLists = std::vector<std::vector<std::string_view>>;

SlotLists slot_lists(const Optimizer& optimizer) {
  if (std::holds_alternative<optimizers::Rmsprop>(optimizer)) return {{"velocity"}, {"momentum"}, {"average_gradient"}};
  if (std::holds_alternative<optimizers::Ftrl>(optimizer)) return {{"accumulator", "linear"}};
  return {{"accumulated_grad", "accumulated_delta_var", "accumulator", "momentum", "velocity", "norm"},
          {"velocity_hat"}};
}

class StateWriter {
 public:
  StateWriter(const KerasExport& what, const std::vector<WrittenVariable>& trainable)
      : what_(what), state_(*what.optimizer_state), trainable_(trainable), optimizer_(what.optimizer->all.front()) {}

  StoredTensors write() {
    const std::int64_t every = what_.gradients.accumulate_steps;
    add(tensor_of(DType::kInt64, Shape{},
                  std::vector<std::int64_t>{state_.updates * every + state_.accumulated_steps}));
    if (state_.learning_rate) add(number_of(*state_.learning_rate));
    if (options_of(optimizer_).use_ema) add_slots({"average"});
    if (every > 1) add_accumulated();
    if (std::holds_alternative<optimizers::Adafactor>(optimizer_)) {
      add_adafactor();
    } else {
      for (const std::vector<std::string_view>& list : slot_lists(optimizer_)) add_slots(list);
    }
    if (const auto* const nadam = std::get_if<optimizers::Nadam>(&optimizer_)) add(number_of(product_of(*nadam)));
    return std::move(tensors_);
  }

 private:
  void add(StoredTensor tensor) { tensors_[fmt::format("optimizer/vars/{}", tensors_.size())] = std::move(tensor); }

  const StoredTensor& stored(const std::string& name) const {
    const auto found = state_.tensors.find(name);
    if (found == state_.tensors.end() || found->second.dtype != DType::kFloat32) {
      throw Unwritable(fmt::format("the run's checkpoint has no {} as Keras keeps it", name));
    }
    return found->second;
  }

  /// A tensor of a variable in the shape that Keras has it in.
  StoredTensor shaped(const std::string& name, const Shape& shape) const {
    const StoredTensor& found = stored(name);
    if (found.shape.elements() != shape.elements()) throw Unwritable(name + " has another shape in Keras");
    return {found.dtype, shape, found.data};
  }

  const VariableUpdate& update_of(const WrittenVariable& variable) const {
    const auto is_it = [&](const ModelVariable& one) { return one.spec.name == variable.variable; };
    const auto found = std::ranges::find_if(what_.built.variables, is_it);
    if (found != what_.built.variables.end()) return found->update;
    if (std::holds_alternative<optimizers::Muon>(optimizer_)) {
      throw Unwritable("muon chooses among variables by their names, which a layer that Keras lacks has not there");
    }
    // Zeros, which are updated as any other variable.
    return std::ranges::find_if(what_.built.variables, [](const ModelVariable& one) { return one.spec.trainable; })
        ->update;
  }

  void add_slots(const std::vector<std::string_view>& list) {
    for (const WrittenVariable& variable : trainable_) {
      const VariableUpdate& update = update_of(variable);
      const std::vector<std::string> names = slot_names(update, variable.shape);
      for (const std::string_view slot : list) {
        const auto found = std::ranges::find(names, slot);
        if (found == names.end()) continue;
        const auto number = static_cast<std::size_t>(found - names.begin());
        add(variable.variable.empty()
                ? filled(variable.shape, first_slots(update, variable.shape)[number])
                : shaped(fmt::format("optimizer/{}/{}", slot, variable.variable), variable.shape));
      }
    }
  }

  void add_accumulated() {
    for (const WrittenVariable& variable : trainable_) {
      const bool has_any = state_.accumulated_steps > 0 && !variable.variable.empty();
      add(has_any ? shaped("accumulated/" + variable.variable, variable.shape) : filled(variable.shape, 0));
    }
  }

  /// Rows, columns and the whole of each variable, of which Keras leaves one or two alone.
  void add_adafactor() {
    for (const WrittenVariable& variable : trainable_) {
      const std::vector<UpdateState> states = states_of(update_of(variable), variable.shape);
      const auto of = [&](const UpdateState& state) {
        return variable.variable.empty()
                   ? filled(state.shape, 0)
                   : shaped(fmt::format("optimizer/{}/{}", state.name, variable.variable), state.shape);
      };
      if (variable.shape.rank() < 2) {
        for (int i = 0; i < 2; ++i) add(tensor_of(DType::kInt32, Shape{}, std::vector<std::int32_t>{0}));
        add(of(states[0]));
      } else {
        for (const UpdateState& state : states) add(of(state));
        add(filled(variable.shape, 0));
      }
    }
  }

  /// Of the first moment's weights at all updates so far, which Nadam keeps.
  double product_of(const optimizers::Nadam& nadam) const {
    double product = 1;
    for (std::int64_t i = 1; i <= state_.updates && product > 0; ++i) {
      product *= double{nadam.beta_1} * (1 - 0.5 * std::pow(0.96, static_cast<double>(i)));
    }
    return product;
  }

  const KerasExport& what_;
  const OptimizerState& state_;
  const std::vector<WrittenVariable>& trainable_;
  const Optimizer& optimizer_;
  StoredTensors tensors_;
};

}  // namespace

StoredTensors write_optimizer_state(const KerasExport& what, const std::vector<WrittenVariable>& trainable,
                                    std::vector<std::string>& remarks) {
  if (what.optimizer == nullptr || !what.optimizer_state) return {};
  try {
    return StateWriter(what, trainable).write();
  } catch (const Unwritable& reason) {
    remarks.push_back(fmt::format("optimizer: fit in Keras begins with a new state, as {}", reason.what()));
    return {};
  }
}

}  // namespace mirrortrain::keras
