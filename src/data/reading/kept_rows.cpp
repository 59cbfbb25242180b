#include "data/reading/kept_rows.h"

#include <algorithm>
#include <cstring>

namespace mirrortrain::data {

KeptRows::KeptRows(std::int64_t rows, std::size_t row_elements, std::size_t memory)
    : row_elements_(row_elements),
      capacity_(std::min(rows, static_cast<std::int64_t>(memory / (row_elements * sizeof(float) + sizeof(State))))),
      elements_(static_cast<std::size_t>(capacity_) * row_elements * sizeof(float), "data.memory"),
      states_(std::make_unique<std::atomic<State>[]>(static_cast<std::size_t>(capacity_))) {}

std::size_t KeptRows::bytes() const {
  return static_cast<std::size_t>(capacity_) * (row_elements_ * sizeof(float) + sizeof(State));
}

std::optional<std::span<const float>> KeptRows::find(std::int64_t row) const {
  if (row >= capacity_) return std::nullopt;
  const auto at = static_cast<std::size_t>(row);
  if (states_[at].load(std::memory_order_acquire) != State::kKept) return std::nullopt;
  return std::span(reinterpret_cast<const float*>(elements_.data()) + at * row_elements_, row_elements_);
}

void KeptRows::keep(std::int64_t row, std::span<const float> elements) {
  if (row >= capacity_) return;
  const auto at = static_cast<std::size_t>(row);
  State before = State::kUnknown;
  if (!states_[at].compare_exchange_strong(before, State::kBeingWritten, std::memory_order_relaxed)) return;
  std::memcpy(elements_.data() + at * elements.size_bytes(), elements.data(), elements.size_bytes());
  states_[at].store(State::kKept, std::memory_order_release);
}

}  // namespace mirrortrain::data
