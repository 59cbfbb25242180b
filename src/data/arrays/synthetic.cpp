#include "data/arrays/synthetic.h"

#include <algorithm>
#include <vector>

#include "base/philox.h"

namespace mirrortrain::data {
namespace {

// Distinguishes the random streams of one seed.
enum Stream : std::uint32_t { kFeatures, kWeights };

// Uniform numbers in [0, 1), determined by `row` and `stream`.
void fill_uniform(const Philox& philox, Stream stream, std::int64_t row, std::span<float> numbers) {
  for (std::size_t i = 0; i < numbers.size(); i += 4) {
    const Philox::Words words = philox(static_cast<std::uint32_t>(i / 4), stream, static_cast<std::uint32_t>(row),
                                       static_cast<std::uint32_t>(row >> 32));
    for (std::size_t j = 0; j < std::min<std::size_t>(4, numbers.size() - i); ++j) {
      numbers[i + j] = uniform_from_bits(words.word[j]);
    }
  }
}

// Number of features that a label depends on: enough to learn from, and fast for large images and many outputs.
std::size_t looked_at(std::size_t features, std::size_t outputs) {
  constexpr std::size_t kMost = 256, kMostWeights = std::size_t{1} << 20;
  return std::min({features, kMost, std::max<std::size_t>(1, kMostWeights / outputs)});
}

// One linear function of the features per output, with weights uniform in [-1, 1) and the features centered on 0.
class Teacher {
 public:
  Teacher(const Philox& philox, std::size_t features, std::size_t outputs)
      : inputs_(looked_at(features, outputs)), weights_(outputs * inputs_) {
    fill_uniform(philox, kWeights, 0, weights_);
    for (float& weight : weights_) weight = 2 * weight - 1;
  }

  float operator()(std::span<const float> features, std::size_t output) const {
    double sum = 0;
    for (std::size_t i = 0; i < inputs_; ++i) {
      sum += static_cast<double>(weights_[output * inputs_ + i]) * (static_cast<double>(features[i]) - 0.5);
    }
    return static_cast<float>(sum);
  }

 private:
  std::size_t inputs_;
  std::vector<float> weights_;
};

}  // namespace

config::Section<Synthetic> Synthetic::section() {
  return config::Section<Synthetic>(
             "Synthetic data: features uniform in [0, 1), and labels computed from them, so that they can be learned.")
      .key("examples", &Synthetic::examples, "Number of examples.", config::required, config::between(1, 1 << 30))
      .key("shape", &Synthetic::shape, "Shape of one example.", config::required, config::non_empty,
           config::between(1, 1 << 30))
      .key("classes", &Synthetic::classes, "Number of classes, if labels are class numbers.",
           config::between(1, 1 << 20))
      .key("label_shape", &Synthetic::label_shape, "Shape of one label, if labels are real numbers; [] for a scalar.",
           config::between(1, 1 << 30))
      .key("seed", &Synthetic::seed, "Random seed of the examples.")
      .relation(R"({"oneOf": [{"required": ["classes"], "properties": {"classes": {"not": {"type": "null"}}}},
                              {"required": ["label_shape"], "properties": {"label_shape": {"not": {"type": "null"}}}}]})")
      .check("", [](const Synthetic& options) -> std::string {
        const bool classes = options.classes.value.has_value(), shape = options.label_shape.value.has_value();
        if (classes && shape) return "expected one of 'classes' and 'label_shape', found both; remove one";
        if (!classes && !shape) return "expected one of 'classes' and 'label_shape', found neither; add one";
        return "";
      });
}

Examples read(const Synthetic& source) {
  const Philox philox = Philox::with_key(source.seed);
  const std::int64_t rows = source.examples;
  Array features(DType::kFloat32, Shape(source.shape.value).with_rows(rows), "the synthetic features");
  Array labels(source.classes.value ? DType::kInt32 : DType::kFloat32, source.labels().with_rows(rows),
               "the synthetic labels");
  const auto elements = static_cast<std::size_t>(features.row_elements());
  const auto outputs = static_cast<std::size_t>(source.classes.value.value_or(labels.row_elements()));
  const Teacher teacher(philox, elements, outputs);
  std::vector<float> values(outputs);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    const auto example = features.span<float>().subspan(at * elements, elements);
    fill_uniform(philox, kFeatures, row, example);
    for (std::size_t i = 0; i < outputs; ++i) values[i] = teacher(example, i);
    if (source.classes.value) {
      const auto largest = std::max_element(values.begin(), values.end());
      labels.span<std::int32_t>()[at] = static_cast<std::int32_t>(largest - values.begin());
    } else {
      std::copy(values.begin(), values.end(), labels.span<float>().begin() + static_cast<std::ptrdiff_t>(at * outputs));
    }
  }
  return {std::move(features), std::move(labels)};
}

}  // namespace mirrortrain::data
