#include "data/loading/load.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

#include "data/files.h"
#include "data/one_spec.h"

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
  source.only.classes.value = 2;
  return source;
}

TEST_CASE("the data that comes with the sources is whole") {
  DataOptions options;
  options.train.value = small_fashion("train");
  options.validation.value = ValidationFraction{0.1};
  options.test.value = small_fashion("t10k");
  const Splits splits = load(options, 0, nullptr);
  CHECK(splits.train.rows() == 1800);
  CHECK(splits.validation->rows() == 200);
  CHECK(splits.test->rows() == 500);
  CHECK(splits.train.features(0).shape == Shape{2000, 28, 28});
  CHECK(splits.train.features(0).dtype == DType::kUint8);
  CHECK(splits.train.labels(0).span<std::uint8_t>()[0] == 9);  // an ankle boot
}

TEST_CASE("a validation fraction is the tail of train and shares its memory") {
  DataOptions options;
  options.train.value = synthetic(11);
  options.validation.value = ValidationFraction{0.3};
  const Splits splits = load(options, 0, nullptr);
  CHECK(splits.train.rows() == 7);  // floor(11 x 0.7)
  CHECK(splits.train.first_row() == 0);
  CHECK(splits.validation->rows() == 4);
  CHECK(splits.validation->first_row() == 7);
  CHECK(splits.validation->features(0).bytes.data() == splits.train.features(0).bytes.data());
  CHECK_FALSE(splits.test.has_value());
}

TEST_CASE("a fraction that leaves a part without examples is refused") {
  DataOptions options;
  options.train.value = synthetic(1);
  options.validation.value = ValidationFraction{0.5};
  CHECK(contains(error_text([&] { load(options, 0, nullptr); }), "leaves train without any"));
}

TEST_CASE("examples without numbers are refused, however many there are said to be") {
  const TemporaryFolder folder;
  const config::Path nothing{folder.write("images", idx(8, {0xffffffff, 0, 14}, ""))};
  DataOptions options;
  options.train.value = Idx{nothing, config::Path{folder.write("labels", idx(8, {0xffffffff, 0}, ""))}};
  CHECK(contains(error_text([&] { load(options, 0, nullptr); }),
                 "expected numbers in each example, found the shape [0, 14]"));
}

TEST_CASE("one split is read alone") {
  DataOptions options;
  options.train.value = synthetic(10);
  options.test.value = small_fashion("t10k");
  CHECK(load(options, 0, nullptr, Split::kTest, nullptr)->dataset.rows() == 500);
  CHECK(load(options, 0, nullptr, Split::kTrain, nullptr)->dataset.rows() == 10);
  CHECK_FALSE(load(options, 0, nullptr, Split::kValidation, nullptr).has_value());
  options.validation.value = ValidationFraction{0.5};
  CHECK(load(options, 0, nullptr, Split::kTrain, nullptr)->dataset.rows() == 5);
  CHECK(load(options, 0, nullptr, Split::kValidation, nullptr)->dataset.first_row() == 5);
  options.validation.value = synthetic(3);
  CHECK(load(options, 0, nullptr, Split::kTrain, nullptr)->dataset.rows() == 10);
  CHECK(load(options, 0, nullptr, Split::kValidation, nullptr)->dataset.rows() == 3);
}

TEST_CASE("every split of text needs the vocabulary of the training data, which is kept") {
  const TemporaryFolder folder;
  const config::Path text{folder.write("a.txt", "abacabadab")},
      letters{folder.write("letters.json", R"(["a","b","c","d"])")},
      others{folder.write("others.json", R"(["d","b","c","a"])")};
  DataOptions options;
  options.train.value = Text{.files = text, .window = 3, .vocabulary = letters};
  options.test.value = Text{.files = text, .window = 3, .vocabulary = letters};
  const Splits splits = load(options, 0, nullptr);
  CHECK(splits.adapted.classes_of("") == std::vector<std::string>{"a", "b", "c", "d"});
  CHECK(splits.test->rows() == 3);
  options.test.value = Text{.files = text, .window = 3, .vocabulary = others};
  CHECK(
      contains(error_text([&] { load(options, 0, nullptr); }),
               "others.json: expected the vocabulary of the training data, 4 tokens, found another of 4; give every"));
  options.test.value = Text{.files = text, .window = 3};
  CHECK(contains(error_text([&] { load(options, 0, nullptr); }),
                 "a.txt: expected the vocabulary of the training data, 4 "
                 "tokens, found bytes"));
}

TEST_CASE("a broken split is an error whichever it is") {
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    DataOptions options;
    Npz absent;
    absent.file = config::Path{"/absent.npz"};
    options.train.value = synthetic(10);
    if (split == Split::kTrain) options.train.value = absent;
    if (split == Split::kValidation) options.validation.value = absent;
    if (split == Split::kTest) options.test.value = absent;
    CHECK(contains(error_text([&] { load(options, 0, nullptr); }),
                   "/absent.npz: cannot read this data file: No such file"));
    CHECK(contains(error_text([&] { load(options, 0, nullptr, split, nullptr); }), "/absent.npz"));
  }
}

TEST_CASE(
    "numbers that are not finite and labels that are no class are left out of every split, before parts are taken") {
  const TemporaryFolder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{0, 1, nan, 3, 4, 5, 6, 7, 8, std::numeric_limits<float>::infinity()};
  const std::vector<std::int32_t> y{0, 1, 0, 2, -1, 1, 0, 1, 0, 1};
  DataOptions options;
  Npy files;
  files.features = config::Path{folder.write("x.npy", npy("<f4", false, "(10, 1)", bytes_of(x)))};
  files.labels.one = config::Path{folder.write("y.npy", npy("<i4", false, "(10,)", bytes_of(y)))};
  options.train.value = files;
  options.validation.value = ValidationFraction{0.5};
  const ExampleSpec spec = OneSpec{.classes = 2};
  CHECK(contains(error_text([&] { load(options, 0, &spec); }), "x.npy: row 2 (counting from 0): found nan"));
  options.on_bad_example = OnBadExample::kSkip;
  const Splits splits = load(options, 0, &spec);
  CHECK(splits.train.rows() == 3);  // rows 0, 1, 5 of the file
  CHECK(splits.validation->rows() == 3);
  const auto features = splits.train.features(0).span<float>();
  CHECK(std::vector<float>(features.begin(), features.end()) == std::vector<float>{0, 1, 5, 6, 7, 8});
  REQUIRE(splits.train.left_out() != nullptr);
  CHECK(splits.validation->left_out() == splits.train.left_out());
  CHECK(splits.train.left_out()->rows == std::vector<std::int64_t>{2, 3, 4, 9});
  CHECK(contains(splits.train.left_out()->reasons[1], "y.npy: row 3 (counting from 0): label 2 is not one of the 2"));
  CHECK(contains(splits.train.features(0).row_text(2), "row 5 (counting from 0)"));

  options.validation.value = ValidationFraction{.fraction = 0.5, .shuffle = true};
  const Splits drawn = load(options, 0, &spec);
  const float first = drawn.validation->features(0).span<float>()[0];
  CHECK(contains(drawn.validation->features(0).row_text(0), fmt::format("row {} (counting from 0)", first)));
}

}  // namespace
}  // namespace mirrortrain::data
