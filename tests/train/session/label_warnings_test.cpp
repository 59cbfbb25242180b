// Labels that a loss or the last layer takes for something else.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "error_text.h"
#include "train/session/said_before_training.h"

namespace mirrortrain {
namespace {

/// Forty examples of two features, and labels by their number.
std::string regression(const std::function<double(int)>& label, const std::string& loss,
                       const std::string& last = "dense: {units: 1}", const std::string& more = "") {
  return fmt::format(R"(
data:
  global_batch_size: 8
  train:
    format: inline
    features: {}
    labels: {}
model: {{input_shape: [2], layers: [dense: {{units: 4, activation: relu}}, {}]}}
loss: {}
optimizer: {{type: adam, learning_rate: 0.001}}
training: {{epochs: 4}}
{})",
                     flow_list(40, [](int i) { return fmt::format("[{}, {}]", i % 7 / 7.0, i % 5 / 5.0); }),
                     flow_list(40, [&](int i) { return fmt::format("{}", label(i)); }), last, loss, more);
}

double small(int i) { return 0.3 * (i % 9); }

TEST_CASE("labels below 0 have no logarithm and are no counts") {
  const auto negative = [](int i) { return 0.3 * (i % 9) - 1; };
  const std::string logarithmic = said_before_training(regression(negative, "mean_squared_logarithmic_error"));
  CHECK_MESSAGE(contains(logarithmic,
                         "loss: takes every label below 0 for 0, as it has no logarithm, and they go from -1 to 1.4; "
                         "use mean_squared_error"),
                logarithmic);
  for (const char* const last : {"dense: {units: 1, activation: exponential}", "dense: {units: 1}"}) {
    const std::string counts = said_before_training(regression(negative, "poisson", last));
    CHECK_MESSAGE(contains(counts, "poisson takes labels for counts, which cannot be negative"), counts);
    CHECK_FALSE(contains(counts, "remove it"));  // which would be advice in a circle
  }
  CHECK(said_before_training(regression(small, "mean_squared_logarithmic_error")) == "");
  CHECK(said_before_training(regression(small, "poisson", "dense: {units: 1, activation: exponential}")) == "");
}

TEST_CASE("a percentage of labels of 0 is warned of, as a loss and as a metric") {
  const std::string loss = said_before_training(regression(small, "mean_absolute_percentage_error"));
  CHECK_MESSAGE(contains(loss, "loss: divides by the label, and 5 of 40 labels are 0"), loss);
  const std::string metric = said_before_training(
      regression(small, "mean_squared_error", "dense: {units: 1}", "metrics: [mean_absolute_percentage_error]"));
  CHECK_MESSAGE(contains(metric, "metrics[0].mean_absolute_percentage_error: divides by the label"), metric);
  CHECK(said_before_training(regression([](int i) { return small(i) + 1; }, "mean_absolute_percentage_error")) == "");
}

TEST_CASE("labels that the steps of a run do not reach are warned of, and others not") {
  const auto large = [](int i) { return 10.0 * (i % 9) + 0.5; };
  for (const char* const loss : {"mean_squared_error", "mean_absolute_error", "huber", "log_cosh"}) {
    CAPTURE(loss);
    const std::string said = said_before_training(regression(large, loss));
    CHECK_MESSAGE(contains(said, "loss: the labels go from 0.5 to 80.5, and outputs begin around 0 and move by about"),
                  said);
    CHECK(contains(said, "in the 20 steps of this run, so that it does not reach them; subtract 38 from the labels"));
    CHECK(said_before_training(regression(small, loss)) == "");
  }
  CHECK(said_before_training(regression(large, "mean_squared_error"),
                             {"training.epochs=4000", "optimizer.learning_rate=0.01"}) == "");
  CHECK(said_before_training(regression(large, "mean_squared_error"), {"optimizer={type: sgd}"}) == "");
  CHECK(said_before_training(regression(large, "mean_squared_error",
                                        "dense: {units: 1, bias_initializer: {constant: {value: 40}}}")) == "");
}

TEST_CASE("labels that are too large for the learning rate of sgd are warned of, and others not") {
  const auto large = [](int i) { return 50 + 21.25 * (i % 41); };  // to 900
  const auto with = [&](const std::string& optimizer, const std::string& loss = "mean_squared_error",
                        const std::string& last = "dense: {units: 1}", std::vector<std::string> more = {}) {
    more.push_back(fmt::format("optimizer={{type: sgd, {}}}", optimizer));
    more.push_back("training.epochs=200");
    return said_before_training(regression(large, loss, last), more);
  };
  const std::string said = with("learning_rate: 0.01");
  CHECK_MESSAGE(contains(said,
                         "loss: the labels go from 50 to 878.75, and sgd's steps are as large as the error, so that "
                         "with a learning rate of 0.01 training diverges or stalls; subtract 464 from the labels in "
                         "the data and divide by 245, or take a learning rate of 0.0001"),
                said);
  CHECK(contains(with("learning_rate: 0.003, momentum: 0.9"), "diverges or stalls"));
  CHECK(with("learning_rate: 0.0001") == "");
  CHECK(with("learning_rate: 0.01, clipnorm: 1") == "");
  CHECK(with("learning_rate: 0.01", "mean_squared_error", "dense: {units: 1}", {"gradients.clip_norm=1"}) == "");
  CHECK(with("learning_rate: {schedule: polynomial_decay, initial_learning_rate: 0.0001, decay_steps: 9, "
             "end_learning_rate: 0.01}") == "");
  CHECK_FALSE(contains(with("learning_rate: 0.01", "mean_absolute_error"), "diverges"));
  CHECK_FALSE(contains(with("learning_rate: 0.01", "mean_squared_error", "tanh, dense: {units: 1}"), "diverges"));
  CHECK(said_before_training(regression(small, "mean_squared_error"), {"optimizer={type: sgd, learning_rate: 0.5}"}) ==
        "");
}

TEST_CASE("a linear model that sgd does not bring to its labels is warned of") {
  const auto far = [](int i) { return 500 + i % 9; };
  const auto with = [&](double rate, const char* features = "[normalization: {adapt: true}]") {
    return said_before_training(regression(far, "mean_squared_error"),
                                {"model.layers=[{dense: {units: 1}}]", fmt::format("data.preprocessing={}", features),
                                 fmt::format("optimizer={{type: sgd, learning_rate: {}}}", rate)});
  };
  const std::string said = with(0.001);
  CHECK_MESSAGE(contains(said, "outputs begin around 0 and come to about 20 in the 20 steps of this run"), said);
  CHECK(with(0.03) != "");
  CHECK(with(0.1) == "");
  CHECK(with(0.001, "[]") == "");  // the sums of features that are not around 0 come nearer too
}

/// Rows of three labels for softmax.
std::string classes(const char* row, const std::string& loss = "categorical_crossentropy") {
  return fmt::format(R"(
data:
  global_batch_size: 4
  train: {{format: inline, features: {}, labels: {}}}
model: {{input_shape: [2], layers: [dense: {{units: 3, activation: softmax}}]}}
loss: {}
optimizer: sgd
training: {{epochs: 1}}
)",
                     flow_list(12, [](int i) { return fmt::format("[{}, {}]", i % 7, i % 5); }),
                     flow_list(12, [&](int i) { return i % 2 == 0 ? std::string("[0, 1, 0]") : std::string(row); }),
                     loss);
}

TEST_CASE("label rows that are no probabilities of one class are warned of") {
  for (const char* const loss : {"categorical_crossentropy", "categorical_focal_crossentropy", "kl_divergence"}) {
    const std::string several = said_before_training(classes("[1, 0, 1]", loss));
    CHECK_MESSAGE(contains(several,
                           "loss: 6 of 12 label rows do not add up to 1, such as one that adds up to 2, but this loss "
                           "takes each for the probabilities of 3 classes of which an example has one; where it may "
                           "have several or none, use binary_crossentropy with sigmoid"),
                  several);
  }
  CHECK(contains(said_before_training(classes("[0, 0, 0]")), "such as one that adds up to 0"));
  CHECK(said_before_training(classes("[1, 0, 0]")) == "");
  CHECK(said_before_training(classes("[0.33, 0.33, 0.33]")) == "");  // rounded
}

/// Sixteen pictures [4, 4] of bytes, as numpy.save writes them.
void write_pictures(const std::filesystem::path& file) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (16, 4, 4), }";
  header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
  std::string bytes = std::string("\x93NUMPY\x01", 7) + '\0' + static_cast<char>(header.size()) + '\0' + header;
  for (int i = 0; i < 16 * 16; ++i) bytes += static_cast<char>(i * 37 % 204);
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_CASE("pictures of bytes that a model gives back are scaled by the loss") {
  const TemporaryFolder folder;
  write_pictures(folder / "x.npy");
  const auto said_of = [&](const char* activation) {
    return said_before_training(fmt::format(R"(
data:
  global_batch_size: 2
  train: {{format: npy, features: {0}, labels: {0}}}
  preprocessing: [rescaling: {{scale: 0.00392156862745098}}]
model: {{input_shape: [4, 4], layers: [flatten, dense: {{units: 16{1}}}, reshape: {{target_shape: [4, 4]}}]}}
loss: mean_squared_error
optimizer: adam
training: {{epochs: 1}}
)",
                                            (folder / "x.npy").string(), activation));
  };
  const std::string formula = "{type: formula, formula: \"mean(square(y_true / 255 - y_pred))\"}";
  const std::string limited = said_of(", activation: sigmoid");
  CHECK_MESSAGE(contains(limited, "remove it, or bring the labels into its range, by a loss " + formula), limited);
  const std::string linear = said_of("");  // as that advice has it
  CHECK_MESSAGE(contains(linear, "so that it does not reach them; divide them by 255 in the loss: " + formula), linear);
}

}  // namespace
}  // namespace mirrortrain
