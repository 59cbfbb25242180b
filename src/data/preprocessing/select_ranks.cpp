#include "data/preprocessing/select_ranks.h"

#include <bit>
#include <cstdint>

namespace mirrortrain::data {
namespace {

/// Whose order as whole numbers is that of the numbers.
std::uint32_t key_of(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000;
}
float number_of(std::uint32_t key) { return std::bit_cast<float>((key >> 31) != 0 ? key & 0x7fffffff : ~key); }

/// A wanted place among the numbers whose keys begin with `prefix`.
struct Place {
  std::uint32_t prefix = 0;
  std::uint64_t rank = 0;
};

/// Makes the prefixes longer, from all but `below + bits` bits to all but `below`.
void refine(const PassNumbers& pass, int below, int bits, std::vector<Place>& places) {
  const std::size_t digits = std::size_t{1} << bits;
  const int above = below + bits;
  const auto prefix_of = [&](std::uint32_t key) { return above == 32 ? 0 : key >> above; };
  std::vector<std::int32_t> group_of(std::size_t{1} << (32 - above), -1);  // by prefix
  std::int32_t groups = 0;
  for (const Place& place : places) {
    if (group_of[place.prefix] < 0) group_of[place.prefix] = groups++;
  }
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(groups) * digits);
  pass([&](std::span<const float> numbers) {
    for (const float number : numbers) {
      const std::uint32_t key = key_of(number);
      const std::int32_t group = group_of[prefix_of(key)];
      if (group >= 0) ++counts[static_cast<std::size_t>(group) * digits + (key >> below & (digits - 1))];
    }
  });
  for (Place& place : places) {
    const std::uint64_t* count = counts.data() + static_cast<std::size_t>(group_of[place.prefix]) * digits;
    std::uint32_t digit = 0;
    for (; place.rank >= *count && digit + 1 < digits; ++digit) place.rank -= *count++;
    place.prefix = (place.prefix << bits) + digit;
  }
}

}  // namespace

std::vector<float> select_ranks(const PassNumbers& pass, const std::vector<std::size_t>& ranks) {
  std::vector<Place> places;
  places.reserve(ranks.size());
  for (const std::size_t rank : ranks) places.push_back({0, rank});
  refine(pass, 21, 11, places);
  refine(pass, 10, 11, places);
  refine(pass, 0, 10, places);
  std::vector<float> numbers;
  numbers.reserve(places.size());
  for (const Place& place : places) numbers.push_back(number_of(place.prefix));
  return numbers;
}

}  // namespace mirrortrain::data
