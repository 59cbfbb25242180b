#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rpc/security.h"
#include "strategy/parameter_server/placement.h"
#include "strategy/step_spec.h"

// Parts of gRPC messages: rows of elements, of which each holds as many as fit, so that the next is made while one is
// sent.
namespace mirrortrain::parameter_server {

inline constexpr std::size_t kMessageElements = (4 << 20) / sizeof(float) - 1024;
static_assert(kMessageElements * sizeof(float) < static_cast<std::size_t>(rpc::kLargestMessage));

/// Of a message's numbers, as many as a run may have.
template <class Numbers>
LearningRates learning_rates_of(const Numbers& numbers) {
  LearningRates rates{};
  std::copy_n(numbers.begin(), std::min(static_cast<std::size_t>(numbers.size()), rates.size()), rates.begin());
  return rates;
}

/// Calls write(message) for all elements, with at least one message, the first of which may have a header already.
/// Returns false if the peer is gone.
template <class Message, class Write>
bool send_elements(std::span<const float> elements, Message& message, const Write& write) {
  do {
    const auto part = elements.first(std::min(elements.size(), kMessageElements));
    message.mutable_elements()->assign(reinterpret_cast<const char*>(part.data()), part.size_bytes());
    if (!write(message)) return false;
    elements = elements.subspan(part.size());
    message.Clear();
  } while (!elements.empty());
  return true;
}

/// Calls write(bytes) for all numbers, in as many parts as needed. Returns false if the peer is gone.
template <class Write>
bool send_floats(std::span<const float> numbers, const Write& write) {
  while (!numbers.empty()) {
    const auto part = numbers.first(std::min(numbers.size(), kMessageElements));
    if (!write(std::string(reinterpret_cast<const char*>(part.data()), part.size_bytes()))) return false;
    numbers = numbers.subspan(part.size());
  }
  return true;
}

inline std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

template <class Message>
PartRows part_rows_of(const Message& message) {
  return {static_cast<std::size_t>(message.part()), floats_of(message.numbers()), floats_of(message.values())};
}

/// Adds rows that follow the last ones, or are the first of another part.
inline void append(PartRows more, std::vector<PartRows>& rows) {
  if (rows.empty() || rows.back().part != more.part) return rows.push_back(std::move(more));
  rows.back().numbers.insert(rows.back().numbers.end(), more.numbers.begin(), more.numbers.end());
  rows.back().values.insert(rows.back().values.end(), more.values.begin(), more.values.end());
}

/// Collects received elements in place.
class ElementsReceiver {
 public:
  explicit ElementsReceiver(std::span<float> place) : place_(std::as_writable_bytes(place)) {}

  /// Returns false if there are more than fit.
  bool take(const std::string& elements) {
    if (elements.size() > place_.size()) return false;
    std::memcpy(place_.data(), elements.data(), elements.size());
    place_ = place_.subspan(elements.size());
    return true;
  }
  bool is_full() const { return place_.empty(); }

 private:
  std::span<std::byte> place_;
};

}  // namespace mirrortrain::parameter_server
