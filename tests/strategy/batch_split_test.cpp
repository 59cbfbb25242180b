#include "strategy/batch_split.h"

#include <doctest/doctest.h>

namespace mirrortrain {
namespace {

TEST_CASE("parts cover the batch in order, larger ones first, and differ by one at most") {
  for (std::int64_t rows = 0; rows < 40; ++rows) {
    for (int replicas = 1; replicas < 10; ++replicas) {
      std::int64_t next = 0, before = rows;
      for (int r = 0; r < replicas; ++r) {
        const RowRange part = rows_of_replica(rows, r, replicas);
        CHECK(part.first == next);
        CHECK(part.count <= before);
        CHECK((part.count == rows / replicas || part.count == rows / replicas + 1));
        next += part.count;
        before = part.count;
      }
      CHECK(next == rows);
    }
  }
}

}  // namespace
}  // namespace mirrortrain
