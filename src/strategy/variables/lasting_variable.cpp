#include "strategy/variables/lasting_variable.h"

#include <utility>

namespace mirrortrain {

std::vector<LastingVariable> lasting_variables(const VariableStore& store, Lasting what) {
  std::vector<LastingVariable> all;
  for (std::size_t i = 0; i < store.variables().size(); ++i) {
    LastingVariable& one =
        all.emplace_back(LastingVariable{i, store.trainable(i), store.variables()[i], {}, {}, {}, 0});
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

DistributedVariable VariableWindow::nothing_of(const DistributedVariable& of, const Shape& shape) {
  memory_.emplace_back();
  return zeros(of, shape, of.policy(), 0, replicas_);
}

DistributedVariable VariableWindow::in_place_of(const DistributedVariable& of, const Shape& shape) const {
  std::vector<std::byte*> pointers(static_cast<std::size_t>(replicas_), of.data(0));
  return {of.name(), of.dtype(), shape, of.policy(), std::move(pointers)};
}

LastingVariable VariableWindow::open(const VariableStore& store, std::size_t variable, const Shape& shape, Lasting what,
                                     InPlace in_place) {
  memory_.clear();
  const DistributedVariable& own = store.variables()[variable];
  const bool shapes_alone = includes(what, Lasting::kShapesAlone);
  const auto make = [&](const Shape& of) {
    if (shapes_alone) return nothing_of(own, of);
    return zeros(own, of, own.policy(), own.policy().copies_can_differ() ? replicas_ : 1, replicas_);
  };
  LastingVariable one{variable, store.trainable(variable), own, {}, {}, {}, 0};
  one.value = !includes(what, Lasting::kValues) ? nothing_of(own, shape)
              : in_place.value && !shapes_alone ? in_place_of(own, shape)
                                                : make(shape);
  if (!one.trainable) return one;
  const bool is_beside_here = in_place.beside && !shapes_alone;
  for (int slot = 0; includes(what, Lasting::kSlots) && slot < store.slots(variable); ++slot) {
    const Shape& of = store.slot_shape(variable, slot, shape);
    one.slots.push_back(is_beside_here ? in_place_of(store.slot(variable, slot), of) : make(of));
  }
  if (includes(what, Lasting::kAccumulated) && store.keeps_gradient(variable)) {
    one.accumulated = is_beside_here ? in_place_of(store.accumulated(variable), shape) : make(shape);
  }
  if (includes(what, Lasting::kResiduals)) {
    if (const auto residual = store.residual(variable)) {
      if (shapes_alone) memory_.emplace_back();
      one.residual = zeros(*residual, shape, residual->policy(), shapes_alone ? 0 : memories_, memories_);
    }
  }
  return one;
}

LastingVariable VariableWindow::open_piece(const VariableStore& store, std::size_t variable, Lasting what,
                                           std::size_t slot, std::int64_t first, std::int64_t count) {
  memory_.clear();
  const DistributedVariable& own = store.variables()[variable];
  const int storages = own.policy().copies_can_differ() ? replicas_ : 1;
  const auto make = [&](bool wanted) {
    return wanted ? zeros(own, Shape{count}, own.policy(), storages, replicas_) : nothing_of(own, Shape{0});
  };
  LastingVariable one{variable, store.trainable(variable), make(what == Lasting::kValues), {}, {}, {}, first};
  for (std::size_t i = 0; what == Lasting::kSlots && i <= slot; ++i) one.slots.push_back(make(i == slot));
  if (what == Lasting::kAccumulated) one.accumulated = make(true);
  if (what == Lasting::kResiduals) {
    const DistributedVariable residual = store.residual(variable).value();
    one.residual = zeros(residual, Shape{count}, residual.policy(), memories_, memories_);
  }
  return one;
}

void for_each_piece(const LastingVariable& variable, const PieceVisit& visit) {
  const auto give = [&](Lasting what, std::size_t slot, const DistributedVariable& elements) {
    if (elements.data(0) != nullptr) visit({variable.index, what, slot, variable.first, elements});
  };
  give(Lasting::kValues, 0, variable.value);
  for (std::size_t slot = 0; slot < variable.slots.size(); ++slot) give(Lasting::kSlots, slot, variable.slots[slot]);
  if (variable.accumulated) give(Lasting::kAccumulated, 0, *variable.accumulated);
  if (variable.residual) give(Lasting::kResiduals, 0, *variable.residual);
}

}  // namespace mirrortrain
