#include "train/checkpoint/training_state.h"

#include <span>
#include <type_traits>

namespace mirrortrain {

void take_from_chief(const Workers& workers, CallbackState& state) {
  static_assert(std::is_trivially_copyable_v<WatchState> && std::is_trivially_copyable_v<ReducedRate>);
  workers.take_from_chief(std::as_writable_bytes(std::span(state.watches)));
  workers.take_from_chief(std::as_writable_bytes(std::span(&state.learning_rate, 1)));
  state.kept_epoch = workers.agree(state.kept_epoch);
}

void take_from_chief(const Workers& workers, TrainingState& state) {
  const auto take = [&](const char*, auto& number) {
    workers.take_from_chief(std::as_writable_bytes(std::span(&number, 1)));
  };
  for_each_number(state, take);
  for_each_sums(state, [&](const char* name, StepSums& sums) {
    take(name, sums.loss);
    take(name, sums.examples);
    workers.take_from_chief(std::as_writable_bytes(std::span(sums.losses)));
    workers.take_from_chief(std::as_writable_bytes(std::span(sums.metrics)));
  });
  take_from_chief(workers, state.callbacks);
}

}  // namespace mirrortrain
