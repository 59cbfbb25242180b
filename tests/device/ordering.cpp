#include "device/ordering.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace mirrortrain::testing {
namespace {

constexpr std::size_t kNumbers = 4096, kBytes = kNumbers * sizeof(std::int32_t);
constexpr int kRounds = 40;

std::int32_t* numbers(const Buffer& buffer, int part = 0) { return buffer.as<std::int32_t>() + part * kNumbers; }
std::byte* part(const Buffer& buffer, int index) { return buffer.data() + static_cast<std::size_t>(index) * kBytes; }

}  // namespace

void check_pipeline(Device& device) {
  device.enter_thread();
  const Buffer source = device.allocate_host(kRounds * kBytes), result = device.allocate_host(kRounds * kBytes);
  const Buffer inputs = device.allocate(2 * kBytes), outputs = device.allocate(2 * kBytes);
  for (int round = 0; round < kRounds; ++round) std::fill_n(numbers(source, round), kNumbers, round + 1);

  std::array<std::unique_ptr<Event>, 2> fed, worked, fetched;
  for (auto* events : {&fed, &worked, &fetched}) {
    for (auto& event : *events) event = device.make_event();
  }
  const auto feed = device.make_stream(), work = device.make_stream(), fetch = device.make_stream();
  for (int round = 0; round < kRounds; ++round) {
    const auto slot = static_cast<std::size_t>(round % 2);
    feed->wait(*worked[slot]);  // never recorded in the first two rounds
    feed->copy(part(inputs, round % 2), part(source, round), kBytes);
    feed->record(*fed[slot]);
    work->wait(*fed[slot]);
    work->wait(*fetched[slot]);
    work->copy(part(outputs, round % 2), part(inputs, round % 2), kBytes);
    work->zero(part(inputs, round % 2), kBytes);  // a feed that did not wait would be lost
    work->record(*worked[slot]);
    fetch->wait(*worked[slot]);
    fetch->copy(part(result, round), part(outputs, round % 2), kBytes);
    fetch->record(*fetched[slot]);
  }
  fetch->synchronize();
  for (int round = 0; round < kRounds; ++round) {
    INFO("round " << round);
    const std::int32_t* const found = numbers(result, round);
    CHECK(std::all_of(found, found + kNumbers, [=](std::int32_t number) { return number == round + 1; }));
  }
}

void check_copies(Device& device) {
  device.enter_thread();
  const auto stream = device.make_stream();
  for (const std::size_t bytes : {0u, 1u, 3u, 64u, 4097u, 3u << 20}) {
    INFO(bytes << " bytes");
    const Buffer there = device.allocate(bytes), twin = device.allocate(bytes), host = device.allocate_host(bytes);
    CHECK(there.bytes() == bytes);
    std::vector<unsigned char> pageable(bytes), back(bytes, 1);
    for (std::size_t i = 0; i < bytes; ++i) pageable[i] = static_cast<unsigned char>(i * 7 + 1);
    auto* const to = reinterpret_cast<std::byte*>(back.data());
    stream->copy(to, there.data(), bytes);
    stream->synchronize();
    CHECK(back == std::vector<unsigned char>(bytes, 0));  // memory comes zeroed
    stream->copy(there.data(), reinterpret_cast<std::byte*>(pageable.data()), bytes);
    stream->copy(twin.data(), there.data(), bytes);
    stream->zero(there.data(), bytes / 2);
    stream->copy(host.data(), twin.data(), bytes);
    stream->copy(to, there.data(), bytes);
    stream->synchronize();
    CHECK(std::equal(pageable.begin(), pageable.end(), host.as<unsigned char>()));
    std::fill_n(pageable.begin(), bytes / 2, static_cast<unsigned char>(0));
    CHECK(back == pageable);
  }
}

}  // namespace mirrortrain::testing
