#include "collective/sample_elements.h"

namespace mirrortrain {
namespace {

float element(std::uint32_t index, std::uint32_t rank, std::uint32_t round) {
  return static_cast<float>((index * 2654435761u + rank * 40503u * 65536u + round * 2246822519u) >> 24);
}

}  // namespace

void fill_sample(std::span<float> elements, int rank, int round) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] =
        element(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(round));
  }
}

std::uint64_t count_wrong_sums(std::span<const float> elements, int ranks, int round) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      sum +=
          element(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(round));
    }
    wrong += elements[i] != sum;
  }
  return wrong;
}

SampleElements::SampleElements(Device& device, std::size_t elements, std::size_t longest)
    : device_(device.allocate(elements * sizeof(float))) {
  if (device.id().kind == DeviceId::Kind::kCuda) host_ = device.allocate_host(longest * sizeof(float));
}

std::size_t SampleElements::room(std::size_t rows, std::size_t count) { return rows * ((count + 15) / 16 * 16); }

std::span<float> SampleElements::row(std::size_t row, std::size_t count) const {
  return {device_.as<float>() + room(row, count), count};
}

void SampleElements::fill(Stream& stream, std::size_t row, std::size_t count, int rank, int round) const {
  const std::span<float> elements = this->row(row, count);
  if (host_.data() == nullptr) return fill_sample(elements, rank, round);
  fill_sample({host_.as<float>(), count}, rank, round);
  stream.copy(reinterpret_cast<std::byte*>(elements.data()), host_.data(), elements.size_bytes());
  stream.synchronize();
}

std::uint64_t SampleElements::count_wrong(Stream& stream, std::size_t row, std::size_t count, int ranks,
                                          int round) const {
  const std::span<float> elements = this->row(row, count);
  if (host_.data() == nullptr) return count_wrong_sums(elements, ranks, round);
  stream.copy(host_.data(), reinterpret_cast<const std::byte*>(elements.data()), elements.size_bytes());
  stream.synchronize();
  return count_wrong_sums({host_.as<float>(), count}, ranks, round);
}

}  // namespace mirrortrain
