#include "data/sources/data_options.h"

#include <doctest/doctest.h>

#include "config/document.h"
#include "data/files.h"
#include "data/loading/model_fit.h"
#include "data/one_spec.h"
#include "has_in_order.h"

namespace mirrortrain::data {
namespace {

struct Root {
  DataOptions data;
  static config::Section<Root> section() {
    return config::Section<Root>("").key("data", &Root::data, "", config::required);
  }
};

struct Configuration {
  explicit Configuration(const std::string& text) {
    document = config::load_text("data:\n  global_batch_size: 4\n" + text, "a.yaml", {}, errors);
    options = config::read<Root>(document, errors).data;
  }
  std::string text() const { return errors.empty() ? "" : errors.text(); }

  config::Errors errors;
  config::Document document;
  DataOptions options;
};

std::string errors_of(const std::string& text) { return Configuration(text).text(); }

// What `check_fit` adds to an otherwise right configuration.
std::string mismatch_of(const std::string& text, const OneSpec& spec) {
  Configuration configuration(text);
  CHECK(configuration.text() == "");
  check_fit(
      configuration.options, spec, [](const std::string&) { return config::Place{}; }, configuration.errors);
  return configuration.text();
}

const std::string kTrain = "  train: {format: synthetic, examples: 10, shape: [3], classes: 2}\n";

TEST_CASE("every data format is read from the configuration") {
  const Configuration configuration(
      "  shuffle: false\n"
      "  train: {format: idx, images: /a/images.gz, labels: /a/labels.gz}\n"
      "  validation: {fraction: 0.25}\n"
      "  test: {format: csv, file: /b.csv, labels: [species, 3], header: true}\n"
      "  preprocessing:\n"
      "    - rescaling: {scale: 0.5}\n"
      "    - normalization: {mean: [1, 2], variance: 3}\n"
      "    - one_hot: {depth: 10}\n");
  CHECK(configuration.text() == "");
  const DataOptions& options = configuration.options;
  CHECK(options.global_batch_size == 4);
  CHECK_FALSE(options.shuffle);
  CHECK(std::get<config::Path>(std::get<Idx>(options.train.value).images).text == "/a/images.gz");
  CHECK(std::get<ValidationFraction>(*options.validation.value).fraction == 0.25);
  const auto& csv = std::get<Csv>(*options.test.value);
  CHECK(csv.header == true);
  CHECK(std::get<std::vector<CsvColumn>>(csv.labels.one->value) ==
        std::vector<CsvColumn>{std::string("species"), std::int64_t{3}});
  CHECK(options.preprocessing.size() == 3);
  CHECK(find_one_hot(options.preprocessing, "")->depth.value == 10);

  const Configuration others(
      "  train: {format: npz, file: /a.npz, features: images}\n"
      "  validation: {format: npy, features: /x.npy, labels: /y.npy}\n"
      "  test: {format: csv, file: /b.csv, labels: 3}\n");
  CHECK(others.text() == "");
  CHECK(std::get<Npz>(others.options.train.value).features == "images");
  CHECK(std::get<Npz>(others.options.train.value).labels.one == NpzLabels("y"));
  CHECK(std::get<config::Path>(*std::get<Npy>(*others.options.validation.value).labels.one).text == "/y.npy");
  CHECK(std::get<std::int64_t>(std::get<Csv>(*others.options.test.value).labels.one->value) == 3);
}

TEST_CASE("inline data becomes arrays: features float32, whole labels int64, others float64") {
  const Configuration configuration(
      "  train: {format: inline, features: [[1, 2.5], [3, 4e0]], labels: [1, 0]}\n"
      "  test: {format: inline, features: [1, 2], labels: [[1], [0.5]]}\n");
  CHECK(configuration.text() == "");
  const Examples train = read(std::get<Inline>(configuration.options.train.value));
  CHECK(train.inputs[0].array.shape == Shape{2, 2});
  CHECK(train.inputs[0].array.span<float>()[1] == 2.5f);
  CHECK(train.outputs[0].array.span<std::int64_t>()[0] == 1);
  CHECK(train.outputs[0].array.origin == "data.train.labels");
  const Examples test = read(std::get<Inline>(*configuration.options.test.value));
  CHECK(test.inputs[0].array.shape == Shape{2});
  CHECK(test.outputs[0].array.shape == Shape{2, 1});
  CHECK(test.outputs[0].array.span<double>()[1] == 0.5);
}

TEST_CASE("inline data of uneven shape or without numbers is a configuration error at its place") {
  const auto error = [](const std::string& features, const std::string& labels) {
    return errors_of("  train:\n    format: inline\n    features: " + features + "\n    labels: " + labels + "\n");
  };
  CHECK(contains(error("[[1, 2], [3]]", "[1, 2]"),
                 "a.yaml:5:24: data.train.features[1]: expected a list of 2 as in the first row, found the list [3]"));
  CHECK(contains(error("[[1, 2], 3]", "[1, 2]"), "data.train.features[1]: expected a list of 2"));
  CHECK(contains(error("[1, [3]]", "[1, 2]"), "data.train.features[1]: expected a finite number"));
  CHECK(contains(error("[1, x]", "[1, 2]"),
                 "data.train.features[1]: expected a finite number that float32 holds, found the text 'x'"));
  CHECK(contains(error("[1, .nan]", "[1, 2]"), "data.train.features[1]: expected a finite number"));
  CHECK(contains(error("[1, 1e39]", "[1, 2]"), "data.train.features[1]: expected a finite number"));
  CHECK(contains(error("[]", "[1, 2]"), "data.train.features: expected a list of numbers"));
  CHECK(contains(error("[[], []]", "[1, 2]"), "data.train.features: expected a list of numbers"));
  CHECK(contains(error("5", "[1, 2]"), "data.train.features: expected a list of numbers"));
  CHECK(contains(error("{a: 1}", "[1, 2]"), "data.train.features: expected a list of numbers"));
  CHECK(contains(error("[1, 2, 3]", "[1, 2]"),
                 "a.yaml:6:13: data.train.labels: expected one label for each of the 3 features, found 2"));
}

TEST_CASE("what is wrong in the section data is reported by its key") {
  CHECK(contains(errors_of("  shuffle: true\n"), "data: missing key 'train'"));
  CHECK(contains(errors_of("  train: {images: a, labels: b}\n"), "missing key 'format'"));
  CHECK(contains(errors_of("  train: {format: idy, images: a, labels: b}\n"), "did you mean 'idx'?"));
  CHECK(contains(errors_of("  train: {format: idx, image: a, labels: b}\n"), "did you mean 'images'?"));
  CHECK(contains(errors_of("  train: {format: image_folder, director: a}\n"), "did you mean 'directory'?"));
  CHECK(contains(errors_of(kTrain + "  preprocessing: [{rescale: {scale: 2}}]\n"), "data.preprocessing[0]"));
  CHECK(contains(errors_of(kTrain + "  preprocessing: [{one_hot: {depth: 2}}, {one_hot: {depth: 2}}]\n"),
                 "at most one one_hot"));
  CHECK(contains(errors_of(kTrain + "  preprocessing: [{normalization: {mean: [1, 2], variance: [1, 2, 3]}}]\n"),
                 "or 2 as in mean, found 3"));
  CHECK(contains(errors_of(kTrain + "  preprocessing: [{normalization: {mean: 1, variance: -1}}]\n"),
                 "data.preprocessing[0].normalization.variance"));
  CHECK(contains(errors_of(kTrain + "  preprocessing: [{normalization: {mean: [], variance: 1}}]\n"),
                 "data.preprocessing[0].normalization.mean"));
  CHECK(contains(errors_of(kTrain + "  preprocessing: [normalization]\n"), "missing keys 'mean' and 'variance'"));
  CHECK(errors_of(kTrain + "  preprocessing: [{normalization: {adapt: true}}]\n") == "");
  CHECK(contains(errors_of(kTrain + "  preprocessing: [{normalization: {adapt: true, mean: 1}}]\n"),
                 "data.preprocessing[0].normalization.adapt: mean and variance are computed from the training data"));
  CHECK(contains(errors_of(kTrain + "  preprocessing: [{normalization: {adapt: false}}]\n"),
                 "data.preprocessing[0].normalization.adapt: without it, give mean and variance"));
  CHECK(contains(errors_of(kTrain + "  validation: {fraction: 1.5}\n"), "data.validation.fraction"));
  CHECK(contains(errors_of(kTrain + "  validation: {fractoin: 0.5}\n"), "data.validation"));
  CHECK(contains(errors_of(kTrain + "  test: {fraction: 0.5}\n"), "data.test"));
  CHECK(contains(errors_of("  train: {format: synthetic, examples: 10, shape: [3]}\n"), "found neither"));
  CHECK(errors_of("  train: {format: synthetic, examples: 10, shape: [3], classes: 2, label_shape: [1]}\n") == "");
  CHECK(contains(errors_of("  train: {format: synthetic, examples: 10, shape: [0], classes: 2}\n"),
                 "data.train.shape[0]"));
  CHECK(contains(errors_of("  train: {format: csv, file: a, labels: x, header: false}\n"), "needs header: true"));
  CHECK(contains(errors_of("  train: {format: csv, file: a, labels: []}\n"), "data.train.labels"));
  CHECK(contains(errors_of("  train: {format: csv, file: a, labels: 1.5}\n"), "a column's name or number"));
}

TEST_CASE("what the configuration alone shows not to fit the model is reported at its place") {
  const OneSpec classes{.features = {3}, .labels = {}, .labels_dtype = DType::kInt32, .classes = 2};
  const OneSpec vectors{.features = {3}, .labels = {2}};
  CHECK(mismatch_of(kTrain, classes) == "");
  CHECK(mismatch_of(kTrain + "  preprocessing: [{one_hot: {depth: 2}}]\n", vectors) == "");
  CHECK(contains(mismatch_of(kTrain + "  preprocessing: [{one_hot: {depth: 3}}]\n", vectors),
                 "data.preprocessing[0].one_hot.depth: one label has the shape [3] after one_hot"));
  CHECK(contains(mismatch_of(kTrain + "  preprocessing: [{one_hot: {depth: 2}}]\n", classes),
                 "the loss takes class numbers"));
  CHECK(contains(mismatch_of(kTrain + "  preprocessing: [{normalization: {mean: [1, 2], variance: 1}}]\n", classes),
                 "normalization.mean: expected one number, or"));
  CHECK(contains(mismatch_of(kTrain, vectors), "data.train.classes: one label has the shape []"));
  CHECK(contains(mismatch_of(kTrain, {.features = {4}, .labels = {1}}),
                 "a.yaml:3:51: data.train.shape: one example has the shape [3], but model.input_shape is [4]"));
  CHECK(contains(mismatch_of("  train: {format: synthetic, examples: 10, shape: [3], classes: 3}\n", classes),
                 "data.train.classes: 3 classes, but the model's output has 2"));
  CHECK(contains(mismatch_of("  train: {format: synthetic, examples: 10, shape: [3], label_shape: [3]}\n", vectors),
                 "data.train.label_shape: one label has the shape [3]"));
}

TEST_CASE("inline data that does not fit the model is reported at its row") {
  const auto mismatch = [](const std::string& labels, const OneSpec& spec) {
    return mismatch_of("  train:\n    format: inline\n    features: [[1, 2], [3, 4]]\n    labels: " + labels + "\n",
                       spec);
  };
  const OneSpec classes{.features = {2}, .labels = {}, .labels_dtype = DType::kInt32, .classes = 2};
  CHECK(mismatch("[0, 1]", classes) == "");
  CHECK(contains(mismatch("[0, 2]", classes),
                 "a.yaml:6:17: data.train.labels[1]: label 2 is not one of the 2 classes 0 to 1"));
  CHECK(contains(mismatch("[[0, 1], [1, 0]]", classes), "a.yaml:6:13: data.train.labels: one label has the shape [2]"));
  CHECK(contains(mismatch("[0, 1]", {.features = {3}, .labels = {1}}),
                 "a.yaml:5:15: data.train.features: one example has the shape [2]"));
}

TEST_CASE("the resolved section reads back as the same") {
  const std::string text =
      "  train: {format: inline, features: [[1, 2.5], [3, 4]], labels: [1, 0]}\n"
      "  validation: {fraction: 0.5}\n"
      "  test: {format: csv, file: /b.csv, labels: [species, 3], header: true}\n"
      "  preprocessing: [{normalization: {mean: [1, 2], variance: 3}}, {one_hot: {depth: 2}}]\n";
  Configuration first(text);
  Root root{first.options};
  const std::string shown = config::show(root, first.document);
  CAPTURE(shown);
  config::Errors errors;
  config::Document document = config::load_text(shown, "b.yaml", {}, errors);
  Root again = config::read<Root>(document, errors);
  CHECK(errors.empty());
  CHECK(config::show(again, document) == shown);
  CHECK(read(std::get<Inline>(again.data.train.value)).inputs[0].array.span<float>()[1] == 2.5f);
}

TEST_CASE("steps on pictures are read with Keras's names, and what is wrong in them is reported by its key") {
  const Configuration configuration(
      kTrain +
      "  preprocessing:\n"
      "    - resizing: {height: 8, width: 9, interpolation: lanczos3, antialias: true}\n"
      "    - center_crop: {height: 6, width: 7}\n"
      "    - random_flip\n"
      "    - random_crop: {height: 4, width: 5, padding: 2}\n"
      "    - random_translation: {height_factor: 0.1, width_factor: [0.3, -0.2], fill_mode: wrap}\n"
      "    - random_rotation: {factor: 0.1, interpolation: nearest}\n"
      "    - random_contrast: {factor: [0.2, 0.4], value_range: [0, 1]}\n");
  CHECK(configuration.text() == "");
  const auto& steps = configuration.options.preprocessing;
  REQUIRE(steps.size() == 7);
  CHECK(config::get<Resizing>(steps[0]).interpolation == Interpolation::kLanczos3);
  CHECK(config::get<RandomFlip>(steps[2]).mode.value == FlipMode::kHorizontalAndVertical);
  const auto& translation = config::get<RandomTranslation>(steps[4]);
  CHECK(bounds_of(translation.height_factor.value).lower == -0.1);
  CHECK(bounds_of(translation.width_factor).lower == -0.2);
  CHECK(bounds_of(translation.width_factor).upper == 0.3);
  CHECK(translation.fill_mode == FillMode::kWrap);

  const auto error = [](const std::string& step) { return errors_of(kTrain + "  preprocessing: [{" + step + "}]\n"); };
  CHECK(contains(error("resizing: {height: 8}"), "data.preprocessing[0].resizing: missing key 'width'"));
  CHECK(contains(error("resizing: {height: 8, width: 8, interpolation: cubic}"), "bicubic"));
  CHECK(contains(error("resizing: {height: 0, width: 8}"), "data.preprocessing[0].resizing.height"));
  CHECK(contains(error("resizing: {height: 8, width: 8, crop_to_aspect_ratio: true, pad_to_aspect_ratio: true}"),
                 "cropped or padded to the ratio, not both"));
  CHECK(contains(error("random_rotation: {factor: 1.5}"), "data.preprocessing[0].random_rotation.factor"));
  CHECK(contains(error("random_contrast: {factor: -0.1}"), "data.preprocessing[0].random_contrast.factor"));
  CHECK(contains(error("random_contrast: {factor: 0.1, value_range: [1, 0]}"), "the least value first"));
  CHECK(contains(error("random_translation: {height_factor: [1, 2, 3], width_factor: 0}"), "height_factor"));
}

TEST_CASE("shapes go through the steps on pictures, and what does not fit is reported at the step") {
  const std::string pictures = "  train: {format: synthetic, examples: 10, shape: [8, 9, 3], classes: 2}\n";
  const OneSpec spec{.features = {4, 5, 3}, .labels = {}, .labels_dtype = DType::kInt32, .classes = 2};
  CHECK(mismatch_of(pictures + "  preprocessing:\n    - resizing: {height: 4, width: 5}\n    - random_flip\n", spec) ==
        "");
  CHECK(has_in_order(
      mismatch_of(pictures + "  preprocessing:\n    - random_flip\n    - center_crop: {height: 5, width: 4}\n", spec),
      {"a.yaml:6:29: data.preprocessing[1].center_crop: ", "5 x 4", "model.input_shape is [4, 5, 3]; ", "\n1 error"}));
  CHECK(contains(mismatch_of("  train: {format: synthetic, examples: 10, shape: [8, 9, 1], classes: 2}\n"
                             "  preprocessing: [{resizing: {height: 4, width: 5}}]\n",
                             spec),
                 "after data.preprocessing one example has the shape [4, 5, 1]"));
  CHECK(has_in_order(mismatch_of(kTrain + "  preprocessing:\n    - random_rotation: {factor: 0.1}\n",
                                 {.features = {3}, .labels = {}, .labels_dtype = DType::kInt32, .classes = 2}),
                     {"a.yaml:5:33: data.preprocessing[0].random_rotation: ", "[height, width, channels]", "[3]; ",
                      "leave it out", "\n1 error"}));
}

}  // namespace
}  // namespace mirrortrain::data
