#include "collective/host_values.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "device/cpu/cpu_device.h"

namespace mirrortrain {
namespace {

/// Whether the bytes are whole integers.
bool are_words(std::span<const std::byte> bytes) {
  return bytes.size() % sizeof(std::int32_t) == 0 &&
         reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::int32_t) == 0;
}

}  // namespace

void barrier(Communicator& communicator) {
  std::vector<double> none(static_cast<std::size_t>(communicator.size()));
  gather(communicator, none, "a barrier");
}

void gather(Communicator& communicator, std::span<double> all, std::string_view what) {
  InlineStream stream;
  communicator.all_gather(stream, {all, what});
  communicator.synchronize(stream);
}

void merge(Communicator& communicator, std::span<std::byte> bytes, std::string_view what) {
  InlineStream stream;
  std::vector<std::int32_t> words;
  for (std::size_t first = 0; first < bytes.size(); first += kMostMerged) {
    const auto part = bytes.subspan(first, std::min(kMostMerged, bytes.size() - first));
    if (are_words(part)) {
      communicator.all_reduce(
          stream, {std::span(reinterpret_cast<std::int32_t*>(part.data()), part.size() / sizeof(std::int32_t)), what});
      communicator.synchronize(stream);
      continue;
    }
    words.assign((part.size() + sizeof(std::int32_t) - 1) / sizeof(std::int32_t), 0);
    std::memcpy(words.data(), part.data(), part.size());
    communicator.all_reduce(stream, {std::span(words), what});
    communicator.synchronize(stream);
    std::memcpy(part.data(), words.data(), part.size());
  }
}

void take_from_chief(Communicator& communicator, std::span<std::byte> bytes, std::string_view what) {
  if (communicator.rank() != 0) std::ranges::fill(bytes, std::byte{});
  merge(communicator, bytes, what);
}

}  // namespace mirrortrain
