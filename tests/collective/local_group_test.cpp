#include "collective/local/local_group.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/philox.h"
#include "collective/run_ranks.h"
#include "error_text.h"

using namespace mirrortrain;

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
void for_each_algorithm(const Body& body) {
  for (const auto& [name, algorithm] : kLocalAlgorithmNames) {
    for (int size = 1; size <= 5; ++size) {
      CAPTURE(name);
      CAPTURE(size);
      body(LocalGroup(size, {.algorithm = algorithm, .timeout_seconds = 20}));
    }
  }
}

template <class T>
void check_all_reduce() {
  for_each_algorithm([](const LocalGroup& group) {
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

TEST_CASE("all_reduce gives every rank the sum, for every algorithm, size and number of ranks") {
  SUBCASE("float32") { check_all_reduce<float>(); }
  SUBCASE("float64") { check_all_reduce<double>(); }
  SUBCASE("int32") { check_all_reduce<std::int32_t>(); }
  SUBCASE("int64") { check_all_reduce<std::int64_t>(); }
}

TEST_CASE("all_reduce sums in rank order") {
  constexpr std::size_t kCount = 5000;
  for (const LocalAlgorithm algorithm : {LocalAlgorithm::kOnePass, LocalAlgorithm::kReductionToOneDevice}) {
    for (int size = 2; size <= 5; ++size) {
      std::vector<std::vector<float>> elements;
      for (int rank = 0; rank < size; ++rank) elements.push_back(uneven(kCount, rank));
      const std::vector<float> expected = total_of(elements);
      run_ranks(LocalGroup(size, {.algorithm = algorithm}), [&](Communicator& communicator, Stream& stream) {
        communicator.all_reduce(stream, std::span(elements[static_cast<std::size_t>(communicator.rank())]));
      });
      for (const auto& row : elements) CHECK(std::memcmp(row.data(), expected.data(), kCount * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("every rank gets the same bits, and the same ones again") {
  constexpr std::size_t kCount = 5000;
  for_each_algorithm([](const LocalGroup& group) {
    std::vector<float> first;
    for (int again = 0; again < 3; ++again) {
      std::vector<std::vector<float>> elements;
      for (int rank = 0; rank < group.size(); ++rank) elements.push_back(uneven(kCount, rank));
      run_ranks(group, [&](Communicator& communicator, Stream& stream) {
        communicator.all_reduce(stream, std::span(elements[static_cast<std::size_t>(communicator.rank())]));
      });
      if (first.empty()) first = elements[0];
      for (const auto& row : elements) CHECK(std::memcmp(row.data(), first.data(), kCount * sizeof(float)) == 0);
    }
  });
}

TEST_CASE("reduce_scatter sums a rank's own shard, and all_gather brings the shards together") {
  for_each_algorithm([](const LocalGroup& group) {
    for (const std::size_t count : kCounts) {
      CAPTURE(count);
      auto elements = whole_numbers<float>(group.size(), count);
      const std::vector<float> expected = total_of(elements);
      std::vector<int> right(static_cast<std::size_t>(group.size()));
      run_ranks(group, [&](Communicator& communicator, Stream& stream) {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        communicator.reduce_scatter(stream, std::span(elements[rank]));
        const Shard shard = shard_of(count, communicator.rank(), communicator.size());
        right[rank] = std::equal(elements[rank].begin() + static_cast<std::ptrdiff_t>(shard.begin),
                                 elements[rank].begin() + static_cast<std::ptrdiff_t>(shard.end),
                                 expected.begin() + static_cast<std::ptrdiff_t>(shard.begin));
        communicator.all_gather(stream, std::span(elements[rank]));
      });
      CHECK(right == std::vector<int>(right.size(), 1));
      for (const auto& row : elements) CHECK(row == expected);
    }
  });
}

TEST_CASE("broadcast gives every rank the root's elements, of any type") {
  for_each_algorithm([](const LocalGroup& group) {
    for (int root = 0; root < group.size(); ++root) {
      auto elements = whole_numbers<std::uint8_t>(group.size(), 1001);
      const auto expected = elements[static_cast<std::size_t>(root)];
      run_ranks(group, [&](Communicator& communicator, Stream& stream) {
        communicator.broadcast(stream, std::span(elements[static_cast<std::size_t>(communicator.rank())]), root);
      });
      for (const auto& row : elements) CHECK(row == expected);
    }
  });
}

TEST_CASE("many operations in a row stay in step") {
  for_each_algorithm([](const LocalGroup& group) {
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
  const LocalGroup group(3, {.timeout_seconds = 0.05});
  run_ranks(group, [&](Communicator& communicator, Stream& stream) {
    std::vector<float> elements(100);
    messages[static_cast<std::size_t>(communicator.rank())] = error_text([&] {
      if (communicator.rank() == 1) return;
      communicator.all_reduce(stream, Elements(std::span(elements)).named("pack 2 of 3"));
    });
  });
  CHECK(contains(messages[0], "waited 0.05 seconds"));
  CHECK(contains(messages[0], " was in all_reduce of 100 float32 elements (pack 2 of 3)"));
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
