#include "strategy/variables/equal_copies.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace mirrortrain {
namespace {

TEST_CASE("a checksum changes with every single bit, and with the order of words") {
  std::vector<std::byte> bytes(43);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(7 * i);
  const std::uint64_t before = checksum(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    CHECK(checksum(bytes) != before);
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
  CHECK(checksum(bytes) == before);
  std::swap_ranges(bytes.begin(), bytes.begin() + 8, bytes.begin() + 8);
  CHECK(checksum(bytes) != before);
}

TEST_CASE("the replicas that differ are named: those outside the majority, or all where there is none") {
  const auto text = [](std::vector<std::uint64_t> checksums) { return differing_replicas_text(checksums); };
  CHECK(text({5}) == "");
  CHECK(text({5, 5, 5}) == "");
  CHECK(text({5, 5, 6}) == "replica 2 has other values than the rest");
  CHECK(text({6, 5, 5, 7, 5}) == "replicas 0, 3 have other values than the rest");
  CHECK(text({5, 6}) == "replica 0 and replica 1 have different values");
  CHECK(text({5, 5, 6, 6}) == "replicas 0, 1 and replicas 2, 3 have different values");
}

}  // namespace
}  // namespace mirrortrain
