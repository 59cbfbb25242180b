#include "data/load.h"

#include <doctest/doctest.h>

#include "data/files.h"

namespace mirrortrain::data {
namespace {

Idx small_fashion(const std::string& part) {
  const std::string folder = std::string(MIRRORTRAIN_SOURCE_DIR) + "/data/fashion-mnist-small/" + part;
  return {config::Path{folder + "-images-idx3-ubyte.gz"}, config::Path{folder + "-labels-idx1-ubyte.gz"}};
}

Synthetic synthetic(std::int64_t examples) {
  Synthetic source;
  source.examples = examples;
  source.shape.value = {2};
  source.classes.value = 2;
  return source;
}

TEST_CASE("the data that comes with the sources is whole") {
  DataOptions options;
  options.train.value = small_fashion("train");
  options.validation.value = ValidationFraction{0.1};
  options.test.value = small_fashion("t10k");
  const Splits splits = load(options, 0);
  CHECK(splits.train.rows() == 1800);
  CHECK(splits.validation->rows() == 200);
  CHECK(splits.test->rows() == 500);
  CHECK(splits.train.features().shape == Shape{2000, 28, 28});
  CHECK(splits.train.features().dtype == DType::kUint8);
  CHECK(splits.train.labels().span<std::uint8_t>()[0] == 9);  // an ankle boot
}

TEST_CASE("a validation fraction is the tail of train and shares its memory") {
  DataOptions options;
  options.train.value = synthetic(11);
  options.validation.value = ValidationFraction{0.3};
  const Splits splits = load(options, 0);
  CHECK(splits.train.rows() == 7);  // floor(11 x 0.7)
  CHECK(splits.train.first_row() == 0);
  CHECK(splits.validation->rows() == 4);
  CHECK(splits.validation->first_row() == 7);
  CHECK(splits.validation->features().bytes.data() == splits.train.features().bytes.data());
  CHECK_FALSE(splits.test.has_value());
}

TEST_CASE("a fraction that leaves a part without examples is refused") {
  DataOptions options;
  options.train.value = synthetic(1);
  options.validation.value = ValidationFraction{0.5};
  CHECK(contains(error_text([&] { load(options, 0); }), "leaves train without any"));
}

TEST_CASE("examples without numbers are refused, however many there are said to be") {
  const TemporaryFolder folder;
  const config::Path nothing{folder.write("images", idx(8, {0xffffffff, 0, 14}, ""))};
  DataOptions options;
  options.train.value = Idx{nothing, config::Path{folder.write("labels", idx(8, {0xffffffff, 0}, ""))}};
  CHECK(contains(error_text([&] { load(options, 0); }), "expected numbers in each example, found the shape [0, 14]"));
}

TEST_CASE("one split is read alone") {
  DataOptions options;
  options.train.value = synthetic(10);
  options.test.value = small_fashion("t10k");
  CHECK(load(options, 0, Split::kTest, nullptr)->dataset.rows() == 500);
  CHECK(load(options, 0, Split::kTrain, nullptr)->dataset.rows() == 10);
  CHECK_FALSE(load(options, 0, Split::kValidation, nullptr).has_value());
  options.validation.value = ValidationFraction{0.5};
  CHECK(load(options, 0, Split::kTrain, nullptr)->dataset.rows() == 5);
  CHECK(load(options, 0, Split::kValidation, nullptr)->dataset.first_row() == 5);
  options.validation.value = synthetic(3);
  CHECK(load(options, 0, Split::kTrain, nullptr)->dataset.rows() == 10);
  CHECK(load(options, 0, Split::kValidation, nullptr)->dataset.rows() == 3);
}

TEST_CASE("a broken split is an error whichever it is") {
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    DataOptions options;
    const Npz absent{config::Path{"/absent.npz"}};
    options.train.value = synthetic(10);
    if (split == Split::kTrain) options.train.value = absent;
    if (split == Split::kValidation) options.validation.value = absent;
    if (split == Split::kTest) options.test.value = absent;
    CHECK(contains(error_text([&] { load(options, 0); }), "/absent.npz: cannot read this data file: No such file"));
    CHECK(contains(error_text([&] { load(options, 0, split, nullptr); }), "/absent.npz"));
  }
}

}  // namespace
}  // namespace mirrortrain::data
