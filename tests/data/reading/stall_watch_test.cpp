#include "data/reading/stall_watch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "data/feeding/feeder.h"
#include "data/one_spec.h"

namespace mirrortrain::data {
namespace {

/// Row 2 is not read until `opens`.
class HangingDisk : public ExampleSource {
 public:
  explicit HangingDisk(std::shared_future<void> opens) : opens_(std::move(opens)) {}
  void read(std::int64_t row, std::span<float> to) const override {
    if (row == 2) opens_.wait();
    std::ranges::fill(to, static_cast<float>(row));
  }
  std::uint64_t stored_bytes(std::int64_t) const override { return 4; }
  std::uint32_t checksum(std::int64_t) const override { return 0; }
  /// Reads it from the same disk.
  std::string row_text(std::int64_t row) const override {
    if (row == 2) opens_.wait();
    return place_text(row);
  }
  std::string place_text(std::int64_t row) const override { return "picture-" + std::to_string(row) + ".png"; }
  std::optional<std::string> fault(std::int64_t) const override { return std::nullopt; }
  std::string identity() const override { return "disk"; }

 private:
  std::shared_future<void> opens_;
};

Dataset pictures(const std::shared_future<void>& opens) {
  Array features;
  features.shape = {4, 2, 2, 1};
  features.origin = "pictures";
  Array labels(DType::kInt32, {4}, "labels");
  std::ranges::fill(labels.span<std::int32_t>(), 0);
  Examples examples = examples_of(std::move(features), std::move(labels));
  examples.inputs.front().source = std::make_shared<HangingDisk>(opens);
  return Dataset(std::move(examples));
}

void fill(const Dataset& dataset, StallWatch* watch, const std::vector<std::int64_t>& rows) {
  const OneSpec spec{.features = {2, 2, 1}, .labels = {}, .labels_dtype = DType::kInt32, .classes = 1};
  FeederOptions options;
  options.watch = watch;
  const std::vector<PreprocessingStep> none;
  const Feeder feeder(dataset, none, spec, options);
  const auto count = static_cast<std::int64_t>(rows.size());
  std::vector<float> x(rows.size() * 4);
  std::vector<std::int32_t> y(rows.size());
  feeder.fill(rows, one_batch({DType::kFloat32, {count, 2, 2, 1}, reinterpret_cast<std::byte*>(x.data())},
                              {DType::kInt32, {count}, reinterpret_cast<std::byte*>(y.data())}));
}

TEST_CASE("a file that is not read in time is named, from another thread than the one that waits") {
  std::promise<void> disk;
  std::promise<std::string> reported;
  StallWatch watch(0.3, [&](const std::string& what) {
    reported.set_value(what);
    disk.set_value();  // else this test would hang as a run would
  });
  fill(pictures(disk.get_future().share()), &watch, {0, 1, 2, 3});
  CHECK(reported.get_future().get().starts_with("picture-2.png was not read within 0.3 s: "));
}

TEST_CASE("what is read in time is not reported, however long reading all of it takes") {
  std::promise<void> disk;
  disk.set_value();
  const Dataset dataset = pictures(disk.get_future().share());
  bool is_reported = false;
  {
    StallWatch watch(0.3, [&](const std::string&) { is_reported = true; });
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
    while (std::chrono::steady_clock::now() < end) fill(dataset, &watch, {2, 3});
  }
  CHECK_FALSE(is_reported);
}

}  // namespace
}  // namespace mirrortrain::data
