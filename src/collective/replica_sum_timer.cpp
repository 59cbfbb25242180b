#include "collective/replica_sum_timer.h"

#include <chrono>
#include <vector>

#include "collective/repetitions.h"
#include "collective/sample_elements.h"

namespace mirrortrain {

AllReduceTiming time_replica_sum(Device& device, int replicas, std::size_t count, SumOnStream sum, bool in_place) {
  using Clock = std::chrono::steady_clock;
  const auto sources = static_cast<std::size_t>(replicas), arrays = sources + (in_place ? 0 : 1);
  device.enter_thread();
  const std::size_t operations = operations_in_a_row(device, arrays * count * sizeof(float));
  // An operation's rows are its replicas' elements and then, out of place, their sum.
  const SampleElements elements(device, SampleElements::room(operations * arrays, count), count);
  const auto sum_row = [&](std::size_t operation) { return operation * arrays + (in_place ? 0 : sources); };
  std::vector<const float*> terms(operations * sources);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    terms[i] = elements.row(i / sources * arrays + i % sources, count).data();
  }

  const auto stream = device.make_stream();
  AllReduceTiming timing;
  Repetitions repetitions;
  for (int repetition = 0; !repetitions.enough(); ++repetition) {
    const auto round = [&](std::size_t operation) {
      return repetition * static_cast<int>(operations) + static_cast<int>(operation);
    };
    for (std::size_t i = 0; i < terms.size(); ++i) {
      elements.fill(*stream, i / sources * arrays + i % sources, count, static_cast<int>(i % sources),
                    round(i / sources));
    }
    const auto start = Clock::now();
    for (std::size_t i = 0; i < operations; ++i) {
      sum(*stream, std::span(terms).subspan(i * sources, sources), elements.row(sum_row(i), count).data(), count);
    }
    stream->synchronize();
    repetitions.add(std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(operations));
    for (std::size_t i = 0; i < operations; ++i) {
      timing.wrong += elements.count_wrong(*stream, sum_row(i), count, replicas, round(i));
    }
  }
  timing.seconds = repetitions.median();
  return timing;
}

}  // namespace mirrortrain
