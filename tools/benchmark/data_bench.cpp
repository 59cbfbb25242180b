// How fast data is read, by the readers that training uses, for run-data. Prints one JSON object.
//
//   data_bench pictures FOLDER THREADS EPOCHS    pictures of a folder to 224 x 224: resized to 256 x 256, cropped and
//                                                flipped at random, in batches of 64
//   data_bench csv FILE LABELS                   a whole table
//   data_bench tfrecord FILES NAME BYTES         a feature of so many bytes, and the labels
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/feeding/feeder.h"
#include "data/loading/load.h"
#include "data/order/order.h"

using namespace mirrortrain;
using namespace mirrortrain::data;

namespace {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

void print(std::int64_t examples, double seconds) {
  fmt::print("{{\"examples\": {}, \"seconds\": {:.4f}}}\n", examples, seconds);
}

/// Every epoch as training asks for it: a batch, while the next two are made ahead.
void read_pictures(const std::string& folder, int threads, std::int64_t epochs) {
  constexpr std::int64_t kBatch = 64, kSide = 224;
  ImageFolder source;
  source.directory = config::Path{folder};
  source.image_size = {256, 256};
  DataOptions options;
  options.train.value = source;
  RandomCrop crop;
  crop.height.value = kSide;
  crop.width = kSide;
  const std::vector<PreprocessingStep> steps{crop, RandomFlip{}};
  const Splits splits = load(options, 1, nullptr);
  InputSpec spec;
  spec.features = {kSide, kSide, 3};
  FeederOptions feeding{{std::size_t{512} << 20, threads}, true, 1};
  const Feeder feeder(splits.train, steps, spec, feeding);
  Order order(feeder.rows(), {kBatch, true, false, 1});
  std::vector<float> features(static_cast<std::size_t>(kBatch * kSide * kSide * 3)), labels(kBatch);
  double best = 0;
  for (std::int64_t epoch = 1; epoch <= epochs + 1; ++epoch) {
    const Stopwatch watch;
    for (std::int64_t batch = 0; batch < order.batches_per_epoch(); ++batch) {
      const Order::Batch next = order.next();
      const auto rows = static_cast<std::int64_t>(next.rows.size());
      feeder.expect(next.ahead, epoch);
      const TensorView x{DType::kFloat32, {rows, kSide, kSide, 3}, reinterpret_cast<std::byte*>(features.data())};
      const TensorView y{DType::kFloat32, {rows}, reinterpret_cast<std::byte*>(labels.data())};
      feeder.fill(next.rows, x, y, nullptr, epoch);
    }
    if (epoch == 2 || (epoch > 2 && watch.seconds() < best)) best = watch.seconds();
  }
  print(feeder.rows(), best);
}

/// The best after one that warms up, as for the peers.
void read_whole(Source source) {
  constexpr int kRounds = 4;
  DataOptions options;
  options.train.value = std::move(source);
  double best = 0;
  std::int64_t rows = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Stopwatch watch;
    rows = load(options, 1, nullptr).train.rows();
    if (round == 1 || (round > 1 && watch.seconds() < best)) best = watch.seconds();
  }
  print(rows, best);
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 4 && words[0] == "pictures") {
    read_pictures(words[1], std::atoi(words[2].c_str()), std::atoi(words[3].c_str()));
  } else if (words.size() == 3 && words[0] == "csv") {
    Csv csv;
    csv.file = config::Path{words[1]};
    csv.labels = words[2];
    read_whole(csv);
  } else if (words.size() == 4 && words[0] == "tfrecord") {
    TfRecord records;
    records.files = config::Path{words[1]};
    records.features.entries = {{words[2], RecordValues{{std::atoi(words[3].c_str())}, {}}}};
    read_whole(records);
  } else {
    fmt::print(stderr, "see the head of tools/benchmark/data_bench.cpp for the arguments\n");
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
