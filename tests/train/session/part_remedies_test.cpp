// What is advised where a part of the training data lacks classes, and that it helps.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "error_text.h"
#include "train/session/said_before_training.h"

namespace mirrortrain {
namespace {

/// Twenty-four pictures of circles, squares and triangles each, in the order of their classes.
std::string shapes(const std::string& validation) {
  return said_before_training(fmt::format(R"(
data:
  global_batch_size: 12
  train: {{format: image_folder, directory: {}, image_size: [8, 8]}}
  validation: {}
  preprocessing: [rescaling: {{scale: 0.00392156862745098}}]
model: {{input_shape: [8, 8, 3], layers: [flatten, dense: {{units: 3}}]}}
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
optimizer: adam
training: {{epochs: 1}}
)",
                                          std::string(MIRRORTRAIN_SOURCE_DIR) + "/data/tiny-shapes/train", validation));
}

/// Labels by the number of their example, of sixty.
std::string labels(const std::function<int(int)>& label, const std::string& validation,
                   const std::string& loss = "{type: sparse_categorical_crossentropy, from_logits: true}",
                   int units = 3) {
  return said_before_training(fmt::format(R"(
data:
  global_batch_size: 12
  train: {{format: inline, features: {}, labels: {}}}
  validation: {}
model: {{input_shape: [1], layers: [dense: {{units: {}}}]}}
loss: {}
optimizer: adam
training: {{epochs: 1}}
)",
                                          flow_list(60, [](int i) { return fmt::format("[{}]", i % 7 / 7.0); }),
                                          flow_list(60, [&](int i) { return fmt::format("{}", label(i)); }), validation,
                                          units, loss));
}

int sorted(int i) { return i / 20; }
/// One example of another class among those of the first.
int rare(int i) { return i == 3 || i == 33 ? 1 : 0; }

TEST_CASE("of pictures in the order of their classes the last are not taken: shuffle: false is to be left out") {
  const std::string end = shapes("{fraction: 0.25, shuffle: false}");
  CHECK_MESSAGE(contains(end,
                         "every label of validation is triangle, though the training data have others; the files are "
                         "in the order of their classes, and shuffle: false takes the last of them: leave out shuffle: "
                         "false, so that each class is in both parts"),
                end);
  CHECK(shapes("{fraction: 0.25}") == "");
  const std::string folds = shapes("{folds: 3, shuffle: false}");
  CHECK_MESSAGE(contains(folds, "shuffle: false takes folds in that order: leave out shuffle: false"), folds);
  CHECK(shapes("{folds: 3}") == "");
}

TEST_CASE("of other data in the order of their classes the remedy depends on how the part is taken") {
  CHECK(contains(labels(sorted, "{fraction: 0.2}"), "are the data sorted by class? add shuffle: true beside fraction"));
  CHECK(contains(labels(sorted, "{fraction: 0.2, shuffle: false}"), "write shuffle: true in place of shuffle: false"));
  CHECK_FALSE(contains(labels(sorted, "{fraction: 0.2, shuffle: true}"), "sorted by class"));
  CHECK(contains(labels(sorted, "{folds: 5, shuffle: false}"), "sorted by class? leave out shuffle: false"));
  CHECK_FALSE(contains(labels(sorted, "{folds: 5}"), "sorted by class"));
}

TEST_CASE("where a class is absent, its part is to be drawn by classes, unless it is already") {
  const auto absent = [](const std::string& validation) { return labels(sorted, validation); };
  CHECK(contains(absent("{fraction: 0.4}"), "take a larger fraction, or draw it with stratify: true\n"));
  CHECK(contains(absent("{fraction: 0.4, shuffle: false}"), "draw it with stratify: true in place of shuffle: false"));
  CHECK_FALSE(contains(absent("{fraction: 0.4, stratify: true}"), "has no example of the class"));
}

TEST_CASE("stratify: true is no advice where a part is drawn by classes, or labels are none") {
  const std::string by_class =
      labels(rare, "{fraction: 0.2, shuffle: true}", "{type: binary_crossentropy, from_logits: true}", 1);
  CHECK_FALSE(contains(by_class, "stratify"));
  const std::string quantities = labels(rare, "{fraction: 0.2, shuffle: true}", "mean_squared_error", 1);
  CHECK_FALSE(contains(quantities, "stratify"));
  bool is_said = false;
  for (const char* const seed : {"1", "2", "3", "4", "5", "6"}) {  // draws the rare ones into training
    const std::string said =
        labels(rare, fmt::format("{{fraction: 0.2, shuffle: true, stratify: false}}\nseed: {}", seed),
               "{type: binary_crossentropy, from_logits: true}", 1);
    is_said = is_said || contains(said, "take a larger fraction, or leave out stratify: false");
  }
  CHECK(is_said);
}

}  // namespace
}  // namespace mirrortrain
