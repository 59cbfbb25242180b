#include "collective/thread_group.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/philox.h"
#include "collective/run_ranks.h"
#include "error_text.h"

using namespace mirrortrain;
using testing::ThreadGroup;

namespace {

/// Numbers of very different size, so that another order of the sum shows in its bits.
std::vector<float> uneven(std::size_t count, int rank) {
  const Philox random = Philox::with_key(7);
  std::vector<float> elements(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto words = random(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(rank), 0, 0);
    elements[i] = (uniform_from_bits(words.word[0]) - 0.5f) * static_cast<float>(1 << (words.word[1] % 20));
  }
  return elements;
}

template <class T>
std::vector<std::vector<T>> whole_numbers(int size, std::size_t count) {
  std::vector<std::vector<T>> elements(static_cast<std::size_t>(size), std::vector<T>(count));
  for (std::size_t rank = 0; rank < elements.size(); ++rank) {
    for (std::size_t i = 0; i < count; ++i) elements[rank][i] = static_cast<T>((i * 7 + rank * 13) % 251);
  }
  return elements;
}

template <class T>
std::vector<T> total_of(const std::vector<std::vector<T>>& elements) {
  std::vector<T> total(elements[0].size());
  for (const auto& row : elements) {
    for (std::size_t i = 0; i < row.size(); ++i) total[i] += row[i];
  }
  return total;
}

constexpr std::size_t kCounts[] = {0, 1, 15, 16, 17, 100, 1000, 4096, 33333};

template <class Body>
void for_each_size(const Body& body) {
  for (int size = 1; size <= 5; ++size) {
    CAPTURE(size);
    body(ThreadGroup(size));
  }
}

template <class T>
void check_all_reduce() {
  for_each_size([](const ThreadGroup& group) {
    for (const std::size_t count : kCounts) {
      CAPTURE(count);
      auto elements = whole_numbers<T>(group.size(), count);
      const std::vector<T> expected = total_of(elements);
      run_ranks(group, [&](Communicator& communicator, Stream& stream) {
        communicator.all_reduce(stream, std::span(elements[static_cast<std::size_t>(communicator.rank())]));
      });
      for (const auto& row : elements) CHECK(row == expected);
    }
  });
}

}  // namespace

TEST_CASE("shards are whole lines, even, in order, and cover everything") {
  for (const std::size_t count : kCounts) {
    for (int size = 1; size <= 5; ++size) {
      std::size_t next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const Shard shard = shard_of(count, rank, size);
        CHECK(shard.begin == next);
        CHECK((shard.begin % 16 == 0 || shard.begin == count));
        CHECK(shard.size() <= count / static_cast<std::size_t>(size) + 32);
        next = shard.end;
      }
      CHECK(next == count);
    }
  }
}

TEST_CASE("all_reduce gives every rank the sum, for every type, size and number of ranks") {
  SUBCASE("float32") { check_all_reduce<float>(); }
  SUBCASE("float64") { check_all_reduce<double>(); }
  SUBCASE("int32") { check_all_reduce<std::int32_t>(); }
  SUBCASE("int64") { check_all_reduce<std::int64_t>(); }
}

TEST_CASE("all_reduce sums in rank order") {
  constexpr std::size_t kCount = 5000;
  for (int size = 2; size <= 5; ++size) {
    std::vector<std::vector<float>> elements;
    for (int rank = 0; rank < size; ++rank) elements.push_back(uneven(kCount, rank));
    const std::vector<float> expected = total_of(elements);
    run_ranks(size, [&](Communicator& communicator, Stream& stream) {
      communicator.all_reduce(stream, std::span(elements[static_cast<std::size_t>(communicator.rank())]));
    });
    for (const auto& row : elements) CHECK(std::memcmp(row.data(), expected.data(), kCount * sizeof(float)) == 0);
  }
}

TEST_CASE("all_gather brings the ranks' parts together") {
  for_each_size([](const ThreadGroup& group) {
    const auto size = static_cast<std::size_t>(group.size());
    std::vector<std::vector<std::int32_t>> elements(size, std::vector<std::int32_t>(size * 100, -1));
    for (std::size_t rank = 0; rank < size; ++rank) {
      std::iota(elements[rank].begin() + static_cast<std::ptrdiff_t>(rank * 100),
                elements[rank].begin() + static_cast<std::ptrdiff_t>((rank + 1) * 100),
                static_cast<std::int32_t>(rank * 100));
    }
    run_ranks(group, [&](Communicator& communicator, Stream& stream) {
      communicator.all_gather(stream, std::span(elements[static_cast<std::size_t>(communicator.rank())]));
    });
    std::vector<std::int32_t> expected(size * 100);
    std::iota(expected.begin(), expected.end(), 0);
    for (const auto& row : elements) CHECK(row == expected);
  });
}

TEST_CASE("many operations in a row stay in step") {
  for_each_size([](const ThreadGroup& group) {
    std::vector<float> sums(static_cast<std::size_t>(group.size()));
    run_ranks(group, [&](Communicator& communicator, Stream& stream) {
      std::vector<float> elements(40);
      float& sum = sums[static_cast<std::size_t>(communicator.rank())];
      for (int round = 0; round < 200; ++round) {
        std::iota(elements.begin(), elements.end(), static_cast<float>(round));
        communicator.all_reduce(stream, std::span(elements));
        sum += elements[39];
      }
    });
    for (const float sum : sums) CHECK(sum == static_cast<float>(group.size() * (200 * 39 + 199 * 100)));
  });
}

TEST_CASE("abort ends the operation of every rank with the reason") {
  std::vector<std::string> messages(4);
  run_ranks(4, [&](Communicator& communicator, Stream& stream) {
    std::vector<float> elements(100);
    messages[static_cast<std::size_t>(communicator.rank())] = error_text([&] {
      communicator.all_reduce(stream, std::span(elements));
      if (communicator.rank() == 2) communicator.abort("disk full on rank 2");
      communicator.all_reduce(stream, std::span(elements));
    });
  });
  for (const std::string& message : messages) CHECK(message == "disk full on rank 2");
}

TEST_CASE("a rank that does not come is an error after the timeout") {
  std::vector<std::string> messages(3);
  const ThreadGroup group(3, 0.05);
  run_ranks(group, [&](Communicator& communicator, Stream& stream) {
    std::vector<float> elements(100);
    messages[static_cast<std::size_t>(communicator.rank())] = error_text([&] {
      if (communicator.rank() == 1) return;
      communicator.all_reduce(stream, {std::span(elements), "bucket 2 of 3"});
    });
  });
  CHECK(contains(messages[0], "waited 0.05 seconds"));
  CHECK(contains(messages[0], " was in all_reduce of 100 float32 elements (bucket 2 of 3)"));
  CHECK(messages[1] == "no error");
  CHECK(messages[2] == messages[0]);
}

TEST_CASE("ranks that disagree are an error that says who does what") {
  std::vector<std::string> messages(2);
  std::vector<std::vector<float>> elements = {std::vector<float>(100), std::vector<float>(101)};
  run_ranks(2, [&](Communicator& communicator, Stream& stream) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    messages[rank] = error_text([&] { communicator.all_reduce(stream, std::span(elements[rank])); });
  });
  CHECK(messages[0] == messages[1]);
  CHECK(contains(messages[0], "all_reduce of 100 float32 elements"));
  CHECK(contains(messages[0], "all_reduce of 101 float32 elements"));
}

TEST_CASE("types that cannot be summed are an error for every rank") {
  run_ranks(2, [&](Communicator& communicator, Stream& stream) {
    std::vector<std::uint8_t> elements(100);
    const std::string message = error_text([&] { communicator.all_reduce(stream, std::span(elements)); });
    CHECK(message.starts_with("ranks cannot sum elements of type uint8; rank "));
  });
}
