#include "strategy/variables/lasting_variable.h"

#include <utility>

namespace mirrortrain {

std::vector<LastingVariable> lasting_variables(const VariableStore& store, Lasting what) {
  std::vector<LastingVariable> all;
  for (std::size_t i = 0; i < store.variables().size(); ++i) {
    LastingVariable& one = all.emplace_back(LastingVariable{i, store.trainable(i), store.variables()[i], {}, {}, {}});
    if (!one.trainable) continue;
    for (int slot = 0; includes(what, Lasting::kSlots) && slot < store.slots(i); ++slot) {
      one.slots.push_back(store.slot(i, slot));
    }
    if (includes(what, Lasting::kAccumulated) && store.keeps_gradient(i)) one.accumulated = store.accumulated(i);
    if (includes(what, Lasting::kResiduals)) one.residual = store.residual(i);
  }
  return all;
}

DistributedVariable VariableWindow::zeros(const DistributedVariable& of, const Shape& shape,
                                          const VariablePolicy& policy, int storages, int copies) {
  const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * size_of(of.dtype());
  std::vector<std::byte*> pointers;
  for (int copy = 0; copy < copies; ++copy) {
    if (copy < storages) memory_.emplace_back(bytes);
    pointers.push_back(memory_.back().data());
  }
  return {of.name(), of.dtype(), shape, policy, std::move(pointers)};
}

LastingVariable VariableWindow::open(const VariableStore& store, std::size_t variable, const Shape& shape,
                                     Lasting what) {
  memory_.clear();
  const DistributedVariable& own = store.variables()[variable];
  const bool shapes_alone = includes(what, Lasting::kShapesAlone);
  const auto make = [&](bool wanted, const Shape& of) {
    const int storages = !wanted || shapes_alone ? 0 : own.policy().copies_can_differ() ? replicas_ : 1;
    if (storages == 0) memory_.emplace_back();
    return zeros(own, of, own.policy(), storages, replicas_);
  };
  LastingVariable one{variable, store.trainable(variable), make(includes(what, Lasting::kValues), shape), {}, {}, {}};
  if (!one.trainable) return one;
  for (int slot = 0; includes(what, Lasting::kSlots) && slot < store.slots(variable); ++slot) {
    one.slots.push_back(make(true, store.slot_shape(variable, slot, shape)));
  }
  if (includes(what, Lasting::kAccumulated) && store.keeps_gradient(variable)) one.accumulated = make(true, shape);
  if (includes(what, Lasting::kResiduals)) {
    if (const auto residual = store.residual(variable)) {
      if (shapes_alone) memory_.emplace_back();
      one.residual = zeros(*residual, shape, residual->policy(), shapes_alone ? 0 : memories_, memories_);
    }
  }
  return one;
}

}  // namespace mirrortrain
