#include "tune/trial_random.h"

#include "base/philox.h"

namespace mirrortrain::tune {

double TrialRandom::uniform(std::string_view purpose, std::uint32_t index) const {
  const std::uint64_t name = hash_of_name(purpose);
  const Philox::Words words =
      Philox::with_key(seed_)(trial_, static_cast<std::uint32_t>(name), static_cast<std::uint32_t>(name >> 32), index);
  const std::uint64_t bits = (std::uint64_t{words.word[0]} << 32 | words.word[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace mirrortrain::tune
