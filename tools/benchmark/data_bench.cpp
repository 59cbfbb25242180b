// How fast data is read, by the readers that training uses, for run-data. Prints one JSON object.
//
//   data_bench pictures FOLDER THREADS EPOCHS    pictures of a folder to 224 x 224: resized to 256 x 256, cropped and
//                                                flipped at random, in batches of 64
//   data_bench position FOLDER MEBIBYTES THREADS BATCHES SEED   batches of 256 of x.npy and y.npy, shuffled, in this
//   memory data_bench index FILE THREADS                finds the rows of a table, without parsing them data_bench csv
//   FILE LABELS                   a whole table data_bench tfrecord FILES NAME BYTES         a feature of so many
//   bytes, and the labels
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
#include "data/tables/row_finder.h"

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

/// A model of one input and labels that are numbers.
ExampleSpec spec_of(const Shape& features) {
  ExampleSpec spec;
  spec.inputs.push_back({.name = "input", .shape = features, .path = "model.input_shape"});
  spec.labels.push_back({.name = "output", .shape = Shape{}});
  return spec;
}

/// Batches as training asks for them: one, while the next two are made ahead.
class Batches {
 public:
  Batches(const Feeder& feeder, Shape example, std::int64_t batch, std::uint64_t seed = 1)
      : feeder_(feeder),
        example_(std::move(example)),
        order_(feeder.rows(), {batch, true, false, seed}),
        features_(static_cast<std::size_t>(batch * example_.elements())),
        labels_(static_cast<std::size_t>(batch)) {}

  std::int64_t of_epoch() const { return order_.batches_per_epoch(); }
  /// Returns the number of examples.
  std::int64_t read(std::int64_t batches) {
    std::int64_t examples = 0;
    for (std::int64_t i = 0; i < batches; ++i) {
      const Order::Batch next = order_.next();
      const auto rows = static_cast<std::int64_t>(next.rows.size());
      feeder_.expect(next.ahead, next.position.epoch);
      const auto bytes = [](std::vector<float>& of) { return reinterpret_cast<std::byte*>(of.data()); };
      const BatchBuffers to{{{DType::kFloat32, example_.with_rows(rows), bytes(features_)}},
                            {{{DType::kFloat32, Shape{rows}, bytes(labels_)}}}};
      feeder_.fill(next.rows, to, next.position.epoch);
      examples += rows;
    }
    return examples;
  }

 private:
  const Feeder& feeder_;
  Shape example_;
  Order order_;
  std::vector<float> features_, labels_;
};

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
  const Shape example{kSide, kSide, 3};
  FeederOptions feeding{{std::size_t{512} << 20, threads}, true, 1};
  const Feeder feeder(splits.train, steps, spec_of(example), feeding);
  Batches batches(feeder, example, kBatch);
  double best = 0;
  for (std::int64_t epoch = 1; epoch <= epochs + 1; ++epoch) {
    const Stopwatch watch;
    batches.read(batches.of_epoch());
    if (epoch == 2 || (epoch > 2 && watch.seconds() < best)) best = watch.seconds();
  }
  print(feeder.rows(), best);
}

void read_by_position(const std::string& folder, std::uint64_t mebibytes, int threads, std::int64_t count,
                      std::uint64_t seed) {
  constexpr std::int64_t kBatch = 256;
  Npy source;
  source.features = Files(config::Path{folder + "/x.npy"});
  source.labels.one = config::Path{folder + "/y.npy"};
  DataOptions options;
  options.train.value = source;
  options.memory = config::Size{mebibytes << 20};
  const Splits splits = load(options, 1, nullptr);
  const Shape example = splits.train.features(0).row_shape();
  FeederOptions feeding{{static_cast<std::size_t>(mebibytes) << 20, threads}, true, 1};
  const Feeder feeder(splits.train, {Rescaling{{}, 1.0 / 255, 0}}, spec_of(example), feeding);
  Batches batches(feeder, example, kBatch, seed);
  batches.read(count / 10);
  const Stopwatch watch;
  const std::int64_t examples = batches.read(count);
  print(examples, watch.seconds());
}

void find_rows(const std::string& path, int threads) {
  RowFinder finder(std::make_shared<PositionedFile>(path), {.threads = threads});
  std::vector<std::uint64_t> offsets;
  const Stopwatch watch;
  while (!finder.next(offsets).empty()) {
  }
  print(finder.rows(), watch.seconds());
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
  } else if (words.size() == 6 && words[0] == "position") {
    read_by_position(words[1], std::strtoull(words[2].c_str(), nullptr, 10), std::atoi(words[3].c_str()),
                     std::atoi(words[4].c_str()), std::strtoull(words[5].c_str(), nullptr, 10));
  } else if (words.size() == 3 && words[0] == "index") {
    find_rows(words[1], std::atoi(words[2].c_str()));
  } else if (words.size() == 3 && words[0] == "csv") {
    Csv csv;
    csv.file = config::Path{words[1]};
    csv.labels = labels_in(std::string(words[2]));
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
