#include "bench/plan/network_speed.h"

#include <doctest/doctest.h>

#include "bench/plan/loopback.h"
#include "bench/plan/shared_memory_network.h"
#include "error_text.h"

namespace mirrortrain::plan {
namespace {

TEST_CASE("a network is a latency and a bandwidth, in bits or bytes") {
  const auto check = [](const char* text, double latency, double bandwidth) {
    CAPTURE(std::string(text));
    const Network network = parse_network(text);
    CHECK(network.latency == doctest::Approx(latency));
    CHECK(network.bandwidth == doctest::Approx(bandwidth));
  };
  check("20us,10Gbit/s", 20e-6, 1.25e9);
  check("0.5ms,1Gb/s", 0.5e-3, 125e6);
  check(" 5 µs , 100 Gbps ", 5e-6, 12.5e9);
  check("2s,12.5GB/s", 2, 12.5e9);
  check("800ns,100MiB/s", 800e-9, 100.0 * (1 << 20));
  check("0us,1000B/s", 0, 1000);
  CHECK(parse_network("20us,10Gbit/s").text() == "20 us and 1.25 GB/s in each direction");
  CHECK(parse_network("1ms,100Mbit/s").text() == "1e+03 us and 12.5 MB/s in each direction");
}

TEST_CASE("a wrong network names the wrong part, and what is expected there") {
  const auto error = [](const char* text) { return error_text([&] { parse_network(text); }); };
  CHECK(error("20us") == "--network: expected LATENCY,BANDWIDTH such as 20us,10Gbit/s, found '20us'");
  CHECK(error("20,10Gbit/s") ==
        "--network: expected a latency in ns, us, ms or s such as 20us before the comma, found '20'");
  CHECK(contains(error("-1us,10Gbit/s"), "a latency"));
  CHECK(contains(error("nanus,10Gbit/s"), "a latency"));
  CHECK(contains(error("1e999s,1GB/s"), "a latency"));
  CHECK(contains(error("20us,10Gbit"), "expected a bandwidth such as 10Gbit/s"));
  CHECK(contains(error("20us,0GB/s"), "found '0GB/s'"));
  CHECK(contains(error("20us,1Gbit/s,3"), "found '1Gbit/s,3'"));
  CHECK(contains(error("20us,"), "a bandwidth"));
}

TEST_CASE("numbers of workers are a range's powers of two and ends, or a list") {
  using Counts = std::vector<int>;
  CHECK(parse_worker_counts("1..64") == Counts{1, 2, 4, 8, 16, 32, 64});
  CHECK(parse_worker_counts("3..12") == Counts{3, 4, 8, 12});
  CHECK(parse_worker_counts("6..6") == Counts{6});
  CHECK(parse_worker_counts("1..1024").size() == 11);
  CHECK(parse_worker_counts("4,1,2,4") == Counts{1, 2, 4});
  CHECK(parse_worker_counts("[8, 3]") == Counts{3, 8});
  CHECK(parse_worker_counts("7") == Counts{7});
}

TEST_CASE("wrong numbers of workers say what is expected") {
  const auto error = [](const char* text) { return error_text([&] { parse_worker_counts(text); }); };
  CHECK(error("0..4") == "--workers: expected numbers from 1 to 1024, found 0");
  CHECK(error("1..2000") == "--workers: expected numbers from 1 to 1024, found 2000");
  CHECK(contains(error("1..2147483647"), "from 1 to 1024"));
  CHECK(error("8..2") == "--workers: a range goes from the smaller number to the larger one, found '8..2'");
  CHECK(error("1..x") == "--workers: expected a range such as 1..64 or a list such as 1,2,4, found '1..x'");
  CHECK(contains(error(""), "--workers: expected a range"));
  CHECK(contains(error("two"), "--workers"));
}

TEST_CASE("the loopback of this machine has a latency and a bandwidth") {
  const Network network = measure_loopback();
  CHECK(network.latency > 1e-7);
  CHECK(network.latency < 0.1);
  CHECK(network.bandwidth > 1e6);
  CHECK(network.bandwidth < 1e12);
}

TEST_CASE("memory that processes share is a network, too") {
  const std::optional<Network> network = measure_shared_memory();
  REQUIRE(network.has_value());
  CHECK(network->latency > 1e-9);
  CHECK(network->latency < 0.1);
  CHECK(network->bandwidth > 1e6);
}

}  // namespace
}  // namespace mirrortrain::plan
