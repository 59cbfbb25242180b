// Weights of examples, and missing labels, of the formats that have an array for each field.
#include "data/fields.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "data/arrays/npy.h"
#include "data/arrays/npz.h"
#include "data/feeding/example_weights.h"
#include "data/files.h"

namespace mirrortrain::data {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Three examples with labels for `rating`, [3, 2], and `clicked`, and numbers that may be their weights.
std::vector<ZipFile> arrays(const std::string& weights = npy("<f4", false, "(3, 1)", bytes_of<float>({0.5f, 2, 0}))) {
  return {{"x.npy", npy("<f4", false, "(3,)", bytes_of<float>({1, 2, 3}))},
          {"rating.npy", npy("<f4", false, "(3, 2)", bytes_of<float>({1, 2, kNaN, 4, 5, kNaN}))},
          {"clicked.npy", npy("<i4", false, "(3,)", bytes_of<std::int32_t>({0, 1, 1}))},
          {"w.npy", weights}};
}

config::Located<std::string> named(std::string name) { return {std::move(name), {}, {}}; }

Npz two_outputs(const std::string& path) {
  Npz npz;
  npz.file = config::Path{path};
  npz.labels.one.reset();
  npz.labels.named.entries = {{"rating", LabelArray{"rating", MissingLabel::kIgnore}}, {"clicked", "clicked"}};
  return npz;
}

TEST_CASE("a label of an archive that is NaN is missing where labels may be") {
  const TemporaryFolder folder;
  Npz npz = two_outputs(folder.write("a.npz", zip(arrays())));
  CHECK(npz.may_lack_labels("rating"));
  CHECK_FALSE(npz.may_lack_labels("clicked"));
  const Dataset dataset(read(npz));
  CHECK(presence_of(dataset, 0) == std::vector<float>{1, 0, 0});
  CHECK(presence_of(dataset, 1) == std::vector<float>{1, 1, 1});
  CHECK(weights_of(dataset, 0, {}) == std::vector<float>{1, 0, 0});
  const auto labels = dataset.labels(0).span<float>();
  CHECK(std::vector(labels.begin(), labels.end()) == std::vector<float>{1, 2, 0, 0, 0, 0});
  CHECK(dataset.remarks().empty());

  npz.labels.named.entries[0].second = "rating";
  CHECK(contains(error_text([&] { Dataset{read(npz)}; }), "a.npz: rating: row 1 (counting from 0): found nan"));
}

TEST_CASE("labels that are whole numbers cannot be missing, which is remarked") {
  const TemporaryFolder folder;
  Npz npz = two_outputs(folder.write("a.npz", zip(arrays())));
  npz.labels.named.entries[1].second = LabelArray{"clicked", MissingLabel::kIgnore};
  const Dataset dataset(read(npz));
  CHECK(presence_of(dataset, 1) == std::vector<float>{1, 1, 1});
  REQUIRE(dataset.remarks().size() == 1);
  CHECK(contains(dataset.remarks()[0], "clicked holds whole numbers, so that no label is missing"));
}

TEST_CASE("an array has the weights of all outputs or of one") {
  const TemporaryFolder folder;
  Npz npz = two_outputs(folder.write("a.npz", zip(arrays())));
  npz.weights.emplace().one = named("w");
  CHECK(weights_of(Dataset(read(npz)), 0, {}) == std::vector<float>{0.5f, 0, 0});  // 0 where the label is missing
  CHECK(weights_of(Dataset(read(npz)), 1, {}) == std::vector<float>{0.5f, 2, 0});
  npz.weights.emplace().named.entries = {{"clicked", named("w")}};
  CHECK(npz.weights_of("rating") == nullptr);
  CHECK(weights_of(Dataset(read(npz)), 0, {}) == std::vector<float>{1, 0, 0});
  CHECK(weights_of(Dataset(read(npz)), 1, {}) == std::vector<float>{0.5f, 2, 0});

  npz.weights->named.entries[0].second = named("v");
  CHECK(contains(error_text([&] { read(npz); }), "say in 'weights.clicked' which one to take"));
}

TEST_CASE("numbers that are no weights are refused") {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& weights) {
    Npz npz = two_outputs(folder.write("a.npz", zip(arrays(weights))));
    npz.weights.emplace().one = named("w");
    return error_text([&] { read(npz); });
  };
  CHECK(contains(error(npy("<f4", false, "(3,)", bytes_of<float>({1, -1, 1}))),
                 "a.npz: w: row 1 (counting from 0): expected a weight, which is a number from 0, found -1"));
  CHECK(contains(error(npy("<f4", false, "(3,)", bytes_of<float>({1, 1, kNaN}))), "row 2 (counting from 0)"));
  CHECK(contains(error(npy("<f4", false, "(2,)", bytes_of<float>({1, 1}))), "w has 2 rows but"));
  CHECK(contains(error(npy("<f4", false, "(3, 2)", bytes_of<float>({1, 1, 1, 1, 1, 1}))),
                 "expected one weight for each example, found the shape [2]"));
}

TEST_CASE("npy files have weights and missing labels as archives do") {
  const TemporaryFolder folder;
  Npy files;
  files.features = config::Path{folder.write("x.npy", arrays()[0].content)};
  files.labels.one = LabelFiles{config::Path{folder.write("y.npy", arrays()[1].content)}, MissingLabel::kIgnore};
  files.weights.emplace().one = {config::Path{folder.write("w.npy", arrays()[3].content)}, {}, {}};
  CHECK(files.may_lack_labels(""));
  CHECK(weights_of(Dataset(read(files)), 0, {}) == std::vector<float>{0.5f, 0, 0});
}

}  // namespace
}  // namespace mirrortrain::data
