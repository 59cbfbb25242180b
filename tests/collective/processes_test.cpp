// Sums between processes: here between threads, each with its own connections to the others.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cluster/reachable_host.h"
#include "collective/gloo/gloo_communicator.h"
#include "collective/gloo/reach_peers.h"
#include "collective/shared_memory/shared_memory_communicator.h"
#include "collective/thread_rendezvous.h"
#include "device/cpu/cpu_device.h"
#include "error_text.h"
#include "skip.h"

namespace mirrortrain {
namespace {

/// kGlooOfMany: connected as many ranks are, each to a few others.
enum class Way { kGloo, kGlooOfMany, kSharedMemory };

std::vector<Way> ways() {
  if (!why_no_gloo().empty()) return {Way::kSharedMemory};
  return {Way::kGloo, Way::kGlooOfMany, Way::kSharedMemory};
}

/// Calls body(communicator) on a thread for each rank; returns what each threw.
template <class Body>
std::vector<std::string> run_processes(Way way, int size, double timeout_seconds, const Body& body) {
  ThreadRendezvous rendezvous;
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      errors[static_cast<std::size_t>(rank)] = error_text([&] {
        const RendezvousStore store = rendezvous.store();
        const int most_direct = way == Way::kGloo ? size : 1;
        const auto communicator =
            way == Way::kSharedMemory
                ? make_shared_memory_communicator(rank, size, timeout_seconds, store, {})
                : make_gloo_communicator({rank, size, "127.0.0.1", timeout_seconds, most_direct}, store, {});
        REQUIRE(communicator != nullptr);
        body(*communicator);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

template <class T>
void check_operations(Communicator& communicator, std::size_t count) {
  const int size = communicator.size();
  InlineStream stream;
  std::vector<T> sum(count);
  for (std::size_t i = 0; i < count; ++i)
    sum[i] = static_cast<T>(i % 1000 + static_cast<std::size_t>(communicator.rank()));
  communicator.all_reduce(stream, {std::span(sum), "a sum"});
  bool all_right = true;
  for (std::size_t i = 0; i < count; ++i) {
    all_right &= sum[i] == static_cast<T>(static_cast<int>(i % 1000) * size + size * (size - 1) / 2);
  }
  CHECK(all_right);
  std::vector<T> parts(count * static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < count; ++i) {
    parts[static_cast<std::size_t>(communicator.rank()) * count + i] = static_cast<T>(communicator.rank() + 1);
  }
  communicator.all_gather(stream, {std::span(parts), "parts"});
  all_right = true;
  for (std::size_t i = 0; i < parts.size(); ++i)
    all_right &= parts[i] == static_cast<T>(i / std::max<std::size_t>(count, 1) + 1);
  CHECK(all_right);
}

/// Part p of rank r is r, p and a number; a rank receives its part of everybody.
void check_all_to_all(Communicator& communicator, std::size_t part) {
  const auto ranks = static_cast<std::size_t>(communicator.size()), own = static_cast<std::size_t>(communicator.rank());
  const auto value = [](std::size_t from, std::size_t to, std::size_t i) {
    return bfloat16(static_cast<float>(from * 16 + to * 4 + i % 3));
  };
  std::vector<bfloat16> parts(ranks * part), received(ranks * part);
  for (std::size_t to = 0; to < ranks; ++to) {
    for (std::size_t i = 0; i < part; ++i) parts[to * part + i] = value(own, to, i);
  }
  const std::vector<bfloat16> before = parts;
  InlineStream stream;
  communicator.all_to_all(stream, {std::span(parts), "parts"}, reinterpret_cast<std::byte*>(received.data()));
  bool all_right = true;
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t i = 0; i < part; ++i) {
      all_right &= received[from * part + i].bits == value(from, own, i).bits;
      all_right &= parts[from * part + i].bits == before[from * part + i].bits;
    }
  }
  CHECK(all_right);
}

TEST_CASE("of two ranks, either sends the other its elements, in order") {
  for (const Way way : ways()) {
    CAPTURE(static_cast<int>(way));
    const std::vector<std::string> errors = run_processes(way, 2, 20, [](Communicator& communicator) {
      InlineStream stream;
      for (const int from : {0, 1, 1, 0}) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{700001}}) {
          std::vector<float> elements(count);
          const auto value = [&](std::size_t i) { return static_cast<float>(i % 1009) + static_cast<float>(from); };
          for (std::size_t i = 0; communicator.rank() == from && i < count; ++i) elements[i] = value(i);
          communicator.transfer(stream, std::span(elements), from);
          bool is_right = true;
          for (std::size_t i = 0; i < count; ++i) is_right = is_right && elements[i] == value(i);
          CHECK(is_right);
        }
      }
      communicator.synchronize(stream);
    });
    CHECK(errors == std::vector<std::string>(2, "no error"));
  }
}

TEST_CASE("only of two ranks does one send to the other, and both have to say which one") {
  for (const Way way : ways()) {
    CAPTURE(static_cast<int>(way));
    for (const int size : {1, 3}) {
      const auto errors = run_processes(way, size, 20, [size](Communicator& communicator) {
        InlineStream stream;
        std::vector<float> elements(4);
        const std::string error = error_text([&] {
          communicator.transfer(stream, {std::span(elements), "activations"}, 0);
        });
        CHECK(error ==
              fmt::format("transfer of 4 float32 elements from rank 0 (activations): rank 0 of {} sends to the "
                          "other one, which only a group of two has",
                          size));
        check_operations<float>(communicator, 100);  // the group is as it was
      });
      for (const std::string& error : errors) CHECK(error == "no error");
    }
  }
  const auto errors = run_processes(Way::kSharedMemory, 2, 20, [](Communicator& communicator) {
    InlineStream stream;
    std::vector<float> elements(4);
    communicator.transfer(stream, std::span(elements), communicator.rank());
  });
  CHECK(
      contains(errors[0],
               "rank 0 is in transfer of 4 float32 elements from rank 0, but rank 1 in transfer of 4 float32 elements "
               "from rank 1"));
  CHECK(contains(errors[1], "rank 1 is in transfer of 4 float32 elements from rank 1, but rank 0 in "));
}

TEST_CASE("small and large operations of every kind follow each other, however far a rank lags") {
  for (const Way way : ways()) {
    CAPTURE(static_cast<int>(way));
    for (const int size : {2, 3, 4}) {
      CAPTURE(size);
      const auto errors = run_processes(way, size, 20, [](Communicator& communicator) {
        std::mt19937 same(7), own(static_cast<unsigned>(communicator.rank()));
        for (int i = 0; i < 60; ++i) {
          if (own() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 3000));
          const std::size_t counts[] = {1, 15, 1000, 8192, 8193, 40000};
          const std::size_t count = counts[same() % std::size(counts)];
          switch (same() % 3) {
            case 0: check_operations<float>(communicator, count); break;
            case 1: check_operations<double>(communicator, count); break;
            default: check_all_to_all(communicator, count); break;
          }
        }
      });
      for (const std::string& error : errors) CHECK(error == "no error");
    }
  }
}

TEST_CASE("ranks of gloo that are in different small operations fail, and do not add each other's bytes") {
  if (testing::skip_without(why_no_gloo().empty(), "gloo")) return;
  for (const auto& [way, same_kind] : {std::pair(Way::kGloo, true), std::pair(Way::kGloo, false),
                                       std::pair(Way::kGlooOfMany, true), std::pair(Way::kGlooOfMany, false)}) {
    const bool is_same = same_kind;
    const auto errors = run_processes(way, 2, 5, [is_same](Communicator& communicator) {
      InlineStream stream;
      std::vector<float> elements(64, 1);
      const std::size_t count = communicator.rank() == 0 || !is_same ? 64 : 32;
      if (is_same || communicator.rank() == 0) {
        communicator.all_reduce(stream, {std::span(elements).first(count), "a sum"});
      } else {
        communicator.all_gather(stream, {std::span(elements), "parts"});
      }
    });
    for (const std::string& error : errors) CHECK(error.find("is in another operation") != std::string::npos);
  }
}

TEST_CASE("many ranks need connections to few others, and add in the same order as few ranks") {
  if (testing::skip_without(why_no_gloo().empty(), "gloo")) return;
  for (const int size : {5, 6, 7, 8}) {
    CAPTURE(size);
    std::vector<float> sums[2];
    for (const Way way : {Way::kGloo, Way::kGlooOfMany}) {
      std::vector<float>& sum = sums[way == Way::kGlooOfMany ? 1 : 0];
      const auto errors = run_processes(way, size, 20, [&](Communicator& communicator) {
        std::mt19937 random(static_cast<unsigned>(communicator.rank()));
        std::vector<float> elements(1000);
        for (float& element : elements) element = std::uniform_real_distribution(-1.0f, 1.0f)(random);
        InlineStream stream;
        communicator.all_reduce(stream, {std::span(elements), "a sum"});
        if (communicator.rank() == size / 2) sum = elements;
        check_operations<float>(communicator, 1);
        check_operations<float>(communicator, 20000);
        check_all_to_all(communicator, 16);
      });
      for (const std::string& error : errors) CHECK(error == "no error");
    }
    CHECK(sums[0] == sums[1]);
  }
}

TEST_CASE("few processes add in the order of their ranks, however many elements there are") {
  for (const Way way : {Way::kGloo, Way::kSharedMemory}) {
    if (way == Way::kGloo && !why_no_gloo().empty()) continue;
    CAPTURE(static_cast<int>(way));
    for (const int size : {2, 3, 5}) {
      CAPTURE(size);
      for (const std::size_t count : {100, 20001, 300007}) {
        CAPTURE(count);
        const auto values_of = [count](int rank) {
          std::mt19937 random(static_cast<unsigned>(rank));
          std::vector<float> values(count);
          for (float& value : values) value = std::uniform_real_distribution(-1.0f, 1.0f)(random);
          return values;
        };
        std::vector<float> expected = values_of(0);
        for (int rank = 1; rank < size; ++rank) {
          const std::vector<float> values = values_of(rank);
          for (std::size_t i = 0; i < count; ++i) expected[i] += values[i];
        }
        std::atomic<int> equal = 0;
        const auto errors = run_processes(way, size, 20, [&](Communicator& communicator) {
          std::vector<float> values = values_of(communicator.rank());
          InlineStream stream;
          communicator.all_reduce(stream, {std::span(values), "values"});
          if (values == expected) ++equal;
        });
        for (const std::string& error : errors) CHECK(error == "no error");
        CHECK(equal == size);
      }
    }
  }
}

TEST_CASE("processes send each other parts of their own") {
  for (const Way way : ways()) {
    CAPTURE(static_cast<int>(way));
    for (const int size : {1, 2, 3, 4}) {
      CAPTURE(size);
      const auto errors = run_processes(way, size, 20, [](Communicator& communicator) {
        for (const std::size_t part : {16, 1008, 600000}) check_all_to_all(communicator, part);
      });
      for (const std::string& error : errors) CHECK(error == "no error");
    }
  }
}

TEST_CASE("processes add and gather every element type, on every number of ranks") {
  for (const Way way : ways()) {
    CAPTURE(static_cast<int>(way));
    for (const int size : {1, 2, 3, 4}) {
      CAPTURE(size);
      const auto errors = run_processes(way, size, 20, [](Communicator& communicator) {
        for (const std::size_t count : {1, 3, 64, 1000, 300001}) {
          check_operations<float>(communicator, count);
          check_operations<double>(communicator, count);
          check_operations<std::int32_t>(communicator, count);
          check_operations<std::int64_t>(communicator, count);
        }
      });
      for (const std::string& error : errors) CHECK(error == "no error");
    }
  }
}

TEST_CASE("a sum between processes gives every rank the same bits, and the same ones again") {
  for (const Way way : ways()) {
    CAPTURE(static_cast<int>(way));
    std::vector<std::vector<float>> found(3);
    const auto train = [&] {
      std::vector<std::vector<float>> sums(3);
      run_processes(way, 3, 20, [&](Communicator& communicator) {
        std::vector<float> values(12345);
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = 1.0f / static_cast<float>(1 + i * 7 + static_cast<std::size_t>(communicator.rank()) * 3);
        }
        InlineStream stream;
        communicator.all_reduce(stream, {std::span(values), "values"});
        sums[static_cast<std::size_t>(communicator.rank())] = values;
      });
      return sums;
    };
    const auto first = train();
    CHECK(first[0] == first[1]);
    CHECK(first[0] == first[2]);
    CHECK(train() == first);
  }
}

TEST_CASE("ranks that share memory and are in different operations learn of it") {
  const auto disagree = [](const std::function<void(Communicator&, Stream&, std::span<float>)>& ranks_1s) {
    return run_processes(Way::kSharedMemory, 2, 20, [&](Communicator& communicator) {
      InlineStream stream;
      std::vector<float> values(200);
      communicator.all_reduce(stream, {std::span(values).first(10), "the same"});
      communicator.all_gather(stream, {std::span(values).first(64), "the same"});
      if (communicator.rank() == 0) return communicator.all_reduce(stream, {std::span(values).first(100), "a sum"});
      ranks_1s(communicator, stream, values);
    });
  };
  const auto of_count = disagree([](Communicator& communicator, Stream& stream, std::span<float> values) {
    communicator.all_reduce(stream, {values, "more"});
  });
  CHECK(of_count[0] ==
        "rank 0 is in all_reduce of 100 float32 elements (a sum), but rank 1 in all_reduce of 200 "
        "float32 elements");
  CHECK(
      of_count[1].starts_with("rank 1 is in all_reduce of 200 float32 elements (more), but rank 0 in all_reduce of "
                              "100 float32 elements"));
  const auto of_kind = disagree([](Communicator& communicator, Stream& stream, std::span<float> values) {
    communicator.all_gather(stream, {values.first(100), "parts"});
  });
  CHECK(of_kind[0].ends_with("but rank 1 in all_gather of 100 float32 elements"));
}

TEST_CASE("what a communicator allocated is added in place, with the bits of other memory") {
  constexpr std::size_t kCount = 300001, kFirst = 16;
  for (const int size : {1, 2, 3, 4}) {
    CAPTURE(size);
    const auto errors = run_processes(Way::kSharedMemory, size, 20, [](Communicator& communicator) {
      const Buffer memory = communicator.allocate((kFirst + kCount) * sizeof(float));
      const Buffer other = communicator.allocate(kCount * sizeof(float));
      REQUIRE(memory.data() != nullptr);
      REQUIRE(other.data() != nullptr);
      InlineStream stream;
      for (const std::span<float> values :
           {std::span(memory.as<float>() + kFirst, kCount), std::span(other.as<float>(), kCount)}) {
        for (int time = 0; time < 3; ++time) {
          std::vector<float> copied(kCount);
          for (std::size_t i = 0; i < kCount; ++i) {
            copied[i] = 1.0f / static_cast<float>(time + 1 + communicator.rank() * 3 + static_cast<int>(i % 1000));
          }
          std::ranges::copy(copied, values.begin());
          communicator.all_reduce(stream, {values, "in place"});
          communicator.all_reduce(stream, {std::span(copied), "elsewhere"});
          CHECK(std::ranges::equal(values, copied));
        }
      }
      CHECK(memory.as<float>()[kFirst - 1] == 0);
    });
    for (const std::string& error : errors) CHECK(error == "no error");
  }
}

TEST_CASE("a rank that does not come to an operation ends it for the others, and so does one that leaves") {
  for (const Way way : ways()) {
    CAPTURE(static_cast<int>(way));
    for (const bool leaves : {false, true}) {
      CAPTURE(leaves);
      std::atomic<int> ended = 0;
      const auto errors = run_processes(way, 3, 1, [&](Communicator& communicator) {
        InlineStream stream;
        std::vector<float> values(100);
        communicator.all_reduce(stream, {std::span(values), "values"});
        if (communicator.rank() == 2) {
          // Else it stays, connected, until the others have given up.
          while (!leaves && ended < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return;
        }
        const std::string error = error_text([&] { communicator.all_reduce(stream, {std::span(values), "values"}); });
        ++ended;
        CHECK(error != "no error");
      });
      CHECK(errors == std::vector<std::string>(3, "no error"));
    }
  }
}

TEST_CASE("an operation that waits ends with the reason for which its rank is aborted") {
  for (const Way way : ways()) {
    CAPTURE(static_cast<int>(way));
    const auto errors = run_processes(way, 2, 0, [](Communicator& communicator) {
      if (communicator.rank() == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        return;
      }
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        communicator.abort("worker 1 is gone");
      });
      InlineStream stream;
      std::vector<float> values(100);
      const std::string message = error_text([&] { communicator.all_reduce(stream, {std::span(values), "values"}); });
      other.join();
      throw Error(message);
    });
    CHECK(errors[0] == "worker 1 is gone");
  }
}

/// Connects to whatever this process listens at, and stays.
void meet_every_listener(std::vector<int>& strangers) {
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    sockaddr_in address{};
    size = sizeof(address);
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    strangers.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    ::connect(strangers.back(), reinterpret_cast<const sockaddr*>(&address), size);
  }
}

/// Calls body(rank, store) on a thread for each of two ranks, which are given the address that `changed` makes of each
/// that a rank names; returns what each threw.
template <class Changed, class Body>
std::vector<std::string> run_two_with_addresses(const Changed& changed, const Body& body) {
  ThreadRendezvous rendezvous;
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      RendezvousStore store = rendezvous.store();
      store.gather = [&, gather = store.gather](const std::string& key, int own, int size,
                                                std::span<const std::string> values) {
        std::vector<std::string> gathered = gather(key, own, size, values);
        if (key.ends_with("/reach")) {
          for (int other = 0; other < size; ++other) changed(other, gathered[static_cast<std::size_t>(other)]);
        }
        return gathered;
      };
      errors[static_cast<std::size_t>(rank)] = error_text([&] { body(rank, store); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST_CASE("ranks that cannot reach each other are named with both addresses, and soon") {
  if (testing::skip_without(why_no_gloo().empty(), "gloo")) return;
  const std::string nobody = fmt::format("127.0.0.1:{}", free_port("127.0.0.1"));
  const auto errors = run_two_with_addresses([&](int, std::string& address) { address = nobody; },
                                             [](int rank, const RendezvousStore& store) {
                                               make_gloo_communicator({rank, 2, "127.0.0.1", 0.7}, store, {});
                                             });
  for (int rank = 0; rank < 2; ++rank) {
    const std::string& error = errors[static_cast<std::size_t>(rank)];
    CHECK_MESSAGE(error.starts_with(fmt::format("rank {} of 2 at 127.0.0.1 cannot connect to the others: ", rank)),
                  error);
    CHECK(error.find(fmt::format("does not reach rank {} at {} (Connection refused) within 0.7 s: is a firewall "
                                 "between them?",
                                 1 - rank, nobody)) != std::string::npos);
  }
}

TEST_CASE("ranks that wait for each other learn that the group has failed, and which of them no other reaches") {
  if (testing::skip_without(why_no_gloo().empty(), "gloo")) return;
  RendezvousStore alone;
  alone.put = [](const std::string&, const std::string&) {};
  const auto answer_with = [&](const std::string& address) {
    alone.gather = [=](const std::string&, int, int size, std::span<const std::string>) {
      return std::vector<std::string>(static_cast<std::size_t>(size), address);
    };
  };
  answer_with(fmt::format("127.0.0.1:{}", free_port("127.0.0.1")));
  alone.failure = [] { return std::string("worker 1 ended unexpectedly"); };
  CHECK(error_text([&] {
          make_gloo_communicator({0, 2, "127.0.0.1", 0}, alone, {});
        }) == "worker 1 ended unexpectedly");
  answer_with("192.0.2.1:4000");
  CHECK(error_text([&] {
          make_gloo_communicator({0, 2, "127.0.0.1", 0}, alone, {});
        }).find("rank 0 listens at 127.0.0.1, where rank 1 at 192.0.2.1 cannot reach it") != std::string::npos);
}

TEST_CASE("of two ranks at one address either may connect") {
  if (testing::skip_without(why_no_gloo().empty(), "gloo")) return;
  const std::string nobody = fmt::format("127.0.0.1:{}", free_port("127.0.0.1"));
  const auto errors = run_two_with_addresses(
      [&](int rank, std::string& address) { address = rank == 0 ? nobody : address; },
      [](int rank, const RendezvousStore& store) {
        const Descriptor listener = reach_peers("gloo", {1 - rank}, {rank, 2, "127.0.0.1", 10}, store);
        store.put(fmt::format("reached/{}", rank), "");
        store.get(fmt::format("reached/{}", 1 - rank));
      });
  for (const std::string& error : errors) CHECK(error == "no error");
}

/// Holds every descriptor that this process may have but `free`.
class DescriptorsTaken {
 public:
  explicit DescriptorsTaken(std::size_t free) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{std::min<rlim_t>(before_.rlim_cur, 256), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const auto take = [] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); };
    for (int one = take(); one >= 0; one = take()) taken_.push_back(one);
    for (std::size_t i = 0; i < free && !taken_.empty(); ++i) {
      ::close(taken_.back());
      taken_.pop_back();
    }
  }
  DescriptorsTaken(const DescriptorsTaken&) = delete;
  DescriptorsTaken& operator=(const DescriptorsTaken&) = delete;
  ~DescriptorsTaken() {
    for (const int one : taken_) ::close(one);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

TEST_CASE("ranks that may open no more files wait for some without using the processor, and reach each other then") {
  if (testing::skip_without(why_no_gloo().empty(), "gloo")) return;
  ThreadRendezvous rendezvous;
  std::optional<DescriptorsTaken> taken;
  std::atomic<int> listening = 0;
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      RendezvousStore store = rendezvous.store();
      store.gather = [&, gather = store.gather](const std::string& key, int own, int size,
                                                std::span<const std::string> values) {
        ++listening;
        while (listening < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (own == 0) taken.emplace(1);  // for a connection, but not to accept it
        return gather(key, own, size, values);
      };
      errors[static_cast<std::size_t>(rank)] = error_text([&] {
        const Descriptor listener = reach_peers("gloo", {1 - rank}, {rank, 2, "127.0.0.1", 20}, store);
        store.put(fmt::format("reached/{}", rank), "");
        store.get(fmt::format("reached/{}", 1 - rank));
      });
    });
  }
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  taken.reset();
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) CHECK(error == "no error");
  CHECK(used < 0.5);
}

TEST_CASE("strangers who connect first while the mesh is made delay it, and no more") {
  if (testing::skip_without(why_no_gloo().empty(), "gloo")) return;
  ThreadRendezvous rendezvous;
  std::vector<int> strangers;
  std::mutex mutex;
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      errors[static_cast<std::size_t>(rank)] = error_text([&] {
        RendezvousStore store = rendezvous.store();
        // Before the ranks know each other's ports of the first two attempts. Newer gloo needs no second one.
        store.gather = [&, gather = store.gather](const std::string& key, int own, int size,
                                                  std::span<const std::string> values) {
          if (key.ends_with("addresses/1") || key.ends_with("addresses/2")) {
            const std::scoped_lock lock(mutex);
            meet_every_listener(strangers);
          }
          return gather(key, own, size, values);
        };
        const auto communicator = make_gloo_communicator({rank, 2, "127.0.0.1", 10}, store, {});
        check_operations<float>(*communicator, 5);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) CHECK(error == "no error");
  for (const int stranger : strangers) ::close(stranger);
}

}  // namespace
}  // namespace mirrortrain
