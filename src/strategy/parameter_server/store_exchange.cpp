#include "strategy/parameter_server/store_exchange.h"

#include <algorithm>

namespace mirrortrain {

StoreExchange::StoreExchange(const Placement& placement, const VariableStore& store) : placement_(placement) {
  for (const Content content : {Content::kChanging, Content::kValues, Content::kState}) {
    // A worker's store has no slots and never exchanges them.
    const bool kept = content != Content::kState || store.slots() == placement.slots();
    runs_.push_back(kept ? runs(content, store, false) : std::vector<Run>());
  }
  if (store.keeps_gradients()) push_ = runs(Content::kChanging, store, true);
}

std::vector<StoreExchange::Run> StoreExchange::runs(Content content, const VariableStore& store, bool pushes) const {
  std::vector<Run> runs;
  std::int64_t first = 0;
  for (int server = 0; server < placement_.servers(); ++server) {
    for (const auto& [part, slot, offset] : placement_.pieces(server, content)) {
      const bool gradient = pushes && part->kind == VariablePart::Kind::kTrained;
      const TensorView view = slot >= 0  ? store.slot(part->variable, slot).copy(0)
                              : gradient ? store.accumulated(part->variable).copy(0)
                                         : store.variables()[part->variable].copy(0);
      runs.push_back({view.as<float>() + part->first, first + offset, part->elements, gradient});
    }
    first += placement_.elements(server, content);
  }
  return runs;
}

void StoreExchange::to_store(Content content, std::span<const float> message) const {
  for (const Run& run : runs_of(content)) std::copy_n(message.data() + run.offset, run.count, run.elements);
}

void StoreExchange::from_store(Content content, std::span<float> message) const {
  for (const Run& run : runs_of(content)) std::copy_n(run.elements, run.count, message.data() + run.offset);
}

void StoreExchange::push_from_store(std::span<float> message) const {
  for (const Run& run : push_) std::copy_n(run.elements, run.count, message.data() + run.offset);
}

double StoreExchange::squares_of_push(std::span<const float> message) const {
  double total = 0;
  for (const Run& run : push_) {
    if (!run.is_gradient) continue;
    const float* const elements = message.data() + run.offset;
    for (std::int64_t i = 0; i < run.count; ++i) total += static_cast<double>(elements[i]) * elements[i];
  }
  return total;
}

}  // namespace mirrortrain
