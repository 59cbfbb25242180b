// Every process runs the same test cases, in the same order.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "cluster/address.h"
#include "collective/mpi/mpi_communicator.h"
#include "collective/mpi_session.h"
#include "device/cpu/cpu_device.h"
#include "error_text.h"

using namespace mirrortrain;
using mirrortrain::testing::the_cluster;
using mirrortrain::testing::the_session;

namespace {

/// A rank's i-th element: neither sums nor orders of them are alike.
template <class T>
T element(int rank, std::size_t i) {
  const double x = std::sin(static_cast<double>(i) * 12.9898 + rank * 78.233) * std::exp2(static_cast<double>(i % 24));
  return static_cast<T>(std::is_integral_v<T> ? x * 10 : x);
}

template <class T>
std::vector<T> elements_of(int rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = element<T>(rank, i);
  return values;
}

/// A group that every process has reached, so that none waits for one that is still in the test case before.
std::unique_ptr<Communicator> make_group(double timeout_seconds, OperationWatch watch = {}) {
  InlineStream stream;
  std::vector<float> one(1);
  make_mpi_communicator(the_session, 60)->all_reduce(stream, std::span(one));
  return make_mpi_communicator(the_session, timeout_seconds, std::move(watch));
}

}  // namespace

TEST_CASE("every task has an address of its own, and MPI starts once") {
  std::set<int> ports;
  for (const Task& task : the_cluster.trainers()) {
    const Address address = Address::of(the_cluster.address(task));
    CHECK(address.host == "127.0.0.1");
    ports.insert(address.port);
  }
  CHECK(the_session->size() == 3);
  CHECK(the_session->rank() == the_cluster.task.index);
  ClusterSpec again = the_cluster;
  CHECK(contains(error_text([&] { mpi::Session::start(again, process_environment()); }), "MPI was started before"));
}

TEST_CASE("of two members, either sends the other its elements") {
  make_group(20);
  const auto pair = make_mpi_communicator(the_session, 20, {}, {0, 1});  // made by all three
  if (the_session->rank() < 2) {
    InlineStream stream;
    for (const int from : {0, 1, 1, 0}) {
      for (const std::size_t count : {1, 100, 70001}) {
        const std::vector<float> sent = elements_of<float>(from, count);
        std::vector<float> elements = pair->rank() == from ? sent : std::vector<float>(count);
        pair->transfer(stream, std::span(elements), from);
        CHECK(elements == sent);
      }
      std::vector<std::uint8_t> bytes(1000, static_cast<std::uint8_t>(pair->rank() == from ? 200 + from : 0));
      pair->transfer(stream, std::span(bytes), from);
      CHECK(bytes == std::vector<std::uint8_t>(1000, static_cast<std::uint8_t>(200 + from)));
    }
  }
  const auto all = make_group(20);
  InlineStream stream;
  std::vector<float> one(1);
  CHECK(contains(error_text([&] { all->transfer(stream, std::span(one), 0); }), "which only a group of two has"));
}

TEST_CASE("two members that both send fail") {
  make_group(20);
  const auto pair = make_mpi_communicator(the_session, 20, {}, {0, 1});
  if (the_session->rank() < 2) {
    InlineStream stream;
    std::vector<float> elements(1000000);  // more than is sent before the other one asks
    const std::string error = error_text([&] { pair->transfer(stream, std::span(elements), the_session->rank()); });
    CHECK_MESSAGE(contains(error, "is in another operation than worker"), error);
  }
}

TEST_CASE_TEMPLATE("all_reduce sums in rank order, with the same bits on every rank and every time", T, float, double,
                   std::int32_t, std::int64_t) {
  const auto group = make_group(20);
  InlineStream stream;
  for (const std::size_t count : {0, 1, 3, 100, 4096, 4097, 5000, 100003}) {
    CAPTURE(count);
    std::vector<T> sums(count);
    std::vector<double> exact(count), largest(count);
    for (int rank = 0; rank < group->size(); ++rank) {
      for (std::size_t i = 0; i < count; ++i) {
        const T value = element<T>(rank, i);
        sums[i] = rank == 0 ? value : static_cast<T>(sums[i] + value);
        exact[i] += static_cast<double>(value);
        largest[i] = std::max(largest[i], std::abs(static_cast<double>(value)));
      }
    }
    for (int time = 0; time < 3; ++time) {
      auto values = elements_of<T>(group->rank(), count);
      group->all_reduce(stream, std::span(values));
      CHECK(values == sums);
      double worst = 0;
      for (std::size_t i = 0; i < count; ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(values[i]) - exact[i]) / std::max(largest[i], 1e-300));
      }
      CHECK(worst < 1e-6);
    }
  }
  group->synchronize(stream);
}

TEST_CASE("all_gather gives every rank every other's part") {
  const auto group = make_group(20);
  InlineStream stream;
  for (const std::size_t part : {0, 1, 7, 40000}) {
    std::vector<std::int64_t> values(part * 3, -1), expected(part * 3);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = static_cast<std::int64_t>(i / std::max(part, std::size_t{1}) * 1000000 + i);
    const auto own = part * static_cast<std::size_t>(group->rank());
    std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(own), part,
                values.begin() + static_cast<std::ptrdiff_t>(own));
    group->all_gather(stream, std::span(values));
    CHECK(values == expected);
  }
}

TEST_CASE("some of the processes are a group in an order of their own, beside the others alone") {
  const auto all = make_group(20);
  const int own = the_session->rank();
  const std::vector<int> members = own == 1 ? std::vector{1} : std::vector{2, 0};
  const auto group = make_mpi_communicator(the_session, 20, {}, members);
  CHECK(group->size() == (own == 1 ? 1 : 2));
  CHECK(group->rank() == (own == 0 ? 1 : 0));
  InlineStream stream;
  for (const std::size_t count : {5, 50000}) {
    std::vector<double> values(count, own + 1.0), expected(count, own == 1 ? 2.0 : 4.0);
    group->all_reduce(stream, std::span(values));
    CHECK(values == expected);
    std::vector<std::int64_t> parts(count * static_cast<std::size_t>(group->size()), -1);
    std::fill_n(parts.begin() + static_cast<std::ptrdiff_t>(count) * group->rank(), count, own);
    group->all_gather(stream, std::span(parts));
    CHECK(parts.front() == members.front());
    CHECK(parts.back() == members.back());
  }
  std::vector<float> one(1, 1);
  all->all_reduce(stream, std::span(one));
  CHECK(one[0] == 3);
}

TEST_CASE("two communicators work side by side, each on a thread of its own") {
  const auto first = make_group(20);
  const auto second = make_group(20);
  const auto work = [](Communicator& group, std::int64_t factor, std::int64_t& total) {
    InlineStream stream;
    for (int time = 0; time < 50; ++time) {
      std::vector<std::int64_t> values(3000, factor * (group.rank() + time));
      group.all_reduce(stream, std::span(values));
      total = std::accumulate(values.begin(), values.end(), total);
    }
  };
  std::int64_t totals[2] = {};
  std::thread other([&] { work(*second, 10, totals[1]); });
  work(*first, 1, totals[0]);
  other.join();
  CHECK(totals[0] == 3000 * (50 * 3 + 3 * 49 * 25));
  CHECK(totals[1] == 10 * totals[0]);
}

TEST_CASE("an operation watch gets each operation, and what it knows of a failure is what is thrown") {
  std::vector<std::string> reported;
  const auto watch =
      OperationWatch{[&](std::string_view what) { reported.push_back("begin " + std::string(what)); },
                     [&] { reported.emplace_back("end"); },
                     [&](const std::string& error, std::span<const int>) { return "worker 2 is to blame: " + error; }};
  const auto group = make_group(1, watch);
  InlineStream stream;
  std::vector<float> values(10);
  group->all_reduce(stream, {std::span(values), "bucket 1"});
  CHECK(reported == std::vector<std::string>{"begin bucket 1", "end"});
  if (group->rank() == 2) {  // comes when the others have given up
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  }
  const std::string error = error_text([&] { group->all_reduce(stream, {std::span(values), "bucket 2"}); });
  CHECK(contains(error, "all_reduce of 10 float32 elements (bucket 2): worker "));
  CHECK(contains(error, "waited 1 s for worker 2"));
  CHECK(error_text([&] { group->check(); }) == error);
  if (group->rank() == 2) return;
  CHECK(error.starts_with("worker 2 is to blame: "));
  CHECK(reported == std::vector<std::string>{"begin bucket 1", "end", "begin bucket 2", "end"});
}

TEST_CASE("a rank that stalls is waited for as long as the timeout, and named") {
  const auto group = make_group(1);
  InlineStream stream;
  std::vector<double> values(200000, 1.0);
  group->all_reduce(stream, std::span(values));
  CHECK(values[0] == 3.0);
  if (group->rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  const std::string error = error_text([&] { group->all_reduce(stream, {std::span(values), "the gradients"}); });
  CAPTURE(error);
  CHECK(contains(error, "all_reduce of 200000 float64 elements (the gradients): worker "));
  CHECK(contains(error, "waited 1 s for worker 1"));
  CHECK(error_text([&] { group->all_gather(stream, std::span(values)); }) == error);
  CHECK(error_text([&] { group->synchronize(stream); }) == error);
}

TEST_CASE("abort on another thread ends every rank's wait with its reason") {
  const auto group = make_group(0);  // without a timeout
  InlineStream stream;
  std::vector<float> values(100000, 1.0f);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::thread other([&] {
    if (group->rank() != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    group->abort("the disk is full");
    group->abort("a later reason");
  });
  std::string error;
  if (group->rank() == 2) {  // never comes to the operation, and learns of it all the same
    do {
      error = error_text([&] { group->check(); });
    } while (error == "no error" && std::chrono::steady_clock::now() < give_up);
  } else {
    error = error_text([&] { group->all_reduce(stream, std::span(values)); });
  }
  other.join();
  CHECK(error == "the disk is full");
  CHECK(error_text([&] { group->all_reduce(stream, std::span(values)); }) == error);
}

TEST_CASE("ranks that are in different operations fail") {
  const auto disagree = [](const std::function<void(Communicator&, Stream&)>& operation) {
    const auto group = make_group(20);
    InlineStream stream;
    const std::string error = error_text([&] { operation(*group, stream); });
    CAPTURE(error);
    CHECK(contains(error, "is in another operation than worker"));
  };
  std::vector<float> values(100000);
  disagree([&](Communicator& group, Stream& stream) {  // more elements than the others, and fewer
    group.all_reduce(stream, std::span(values).first(group.rank() == 0 ? 100 : 101));
  });
  disagree([&](Communicator& group, Stream& stream) {
    group.all_reduce(stream, std::span(values).first(group.rank() == 0 ? 90000 : 99999));
  });
  disagree([&](Communicator& group, Stream& stream) {  // the same numbers of elements in each message
    if (group.rank() == 0) {
      group.all_gather(stream, std::span(values).first(300));
    } else {
      group.all_reduce(stream, std::span(values).first(100));
    }
  });
}
