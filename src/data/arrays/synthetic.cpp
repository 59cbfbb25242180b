#include "data/arrays/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "data/key_aliases.h"

namespace mirrortrain::data {
namespace {

// Random streams of one seed: those of the inputs' features have even numbers, those of the outputs' weights odd ones.
std::uint32_t features_stream(std::size_t input) { return static_cast<std::uint32_t>(2 * input); }
std::uint32_t weights_stream(std::size_t output) { return static_cast<std::uint32_t>(2 * output + 1); }

// Uniform numbers in [0, 1), determined by `row` and `stream`.
void fill_uniform(const Philox& philox, std::uint32_t stream, std::int64_t row, std::span<float> numbers) {
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
  Teacher(const Philox& philox, std::uint32_t stream, std::size_t features, std::size_t outputs)
      : inputs_(looked_at(features, outputs)), weights_(outputs * inputs_) {
    fill_uniform(philox, stream, 0, weights_);
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

// Writes the features of a row for each input; returns what labels are computed from: some of each input's, in [0, 1).
class Inputs {
 public:
  Inputs(const Philox& philox, const Synthetic& source) : philox_(philox), options_(source.all_inputs()) {
    for (const SyntheticInput& input : options_) {
      const std::string of = input.name.empty() ? "" : fmt::format(" of '{}'", input.name);
      arrays_.push_back(
          {input.name, Array(input.below.value ? DType::kInt32 : DType::kFloat32,
                             Shape(input.shape.value).with_rows(source.examples), "the synthetic features" + of)});
      const auto elements = static_cast<std::size_t>(arrays_.back().array.row_elements());
      numbers_.emplace_back(elements);
      looked_at_ += options_.size() == 1 ? elements : std::min(elements, kMostOfEach);
    }
    known_.reserve(looked_at_);
  }

  std::size_t looked_at() const { return looked_at_; }

  std::span<const float> make(std::int64_t row) {
    known_.clear();
    for (std::size_t i = 0; i < options_.size(); ++i) {
      std::vector<float>& numbers = numbers_[i];
      fill_uniform(philox_, features_stream(i), row, numbers);
      const std::size_t at = static_cast<std::size_t>(row) * numbers.size();
      if (const auto below = options_[i].below.value) {
        for (std::size_t j = 0; j < numbers.size(); ++j) {
          const auto number = static_cast<std::int32_t>(static_cast<double>(numbers[j]) * static_cast<double>(*below));
          arrays_[i].array.span<std::int32_t>()[at + j] = number;
          numbers[j] = static_cast<float>(static_cast<double>(number) / static_cast<double>(*below));
        }
      } else {
        std::ranges::copy(numbers, arrays_[i].array.span<float>().begin() + static_cast<std::ptrdiff_t>(at));
      }
      const std::size_t taken = options_.size() == 1 ? numbers.size() : std::min(numbers.size(), kMostOfEach);
      known_.insert(known_.end(), numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(taken));
    }
    return known_;
  }

  std::vector<Features> take() && { return std::move(arrays_); }

 private:
  static constexpr std::size_t kMostOfEach = 32;  // so that labels depend on every input

  const Philox& philox_;
  std::vector<SyntheticInput> options_;
  std::vector<Features> arrays_;
  std::vector<std::vector<float>> numbers_;
  std::vector<float> known_;
  std::size_t looked_at_ = 0;
};

}  // namespace

config::Section<SyntheticInput> SyntheticInput::section() {
  return config::Section<SyntheticInput>("Synthetic features of an input.")
      .key("shape", &SyntheticInput::shape, "Shape of one example; [] for a single number.", config::required,
           config::between(1, 1 << 30))
      .key("below", &SyntheticInput::below,
           "Makes the features whole numbers from 0 to one less than this, as embeddings look up; null: numbers in [0, "
           "1).",
           config::between(1, 1 << 24));
}

namespace {

constexpr const char* kEither =
    R"({"anyOf": [{"required": ["classes"], "properties": {"classes": {"not": {"type": "null"}}}},
                  {"required": ["label_shape"], "properties": {"label_shape": {"not": {"type": "null"}}}}]})";

std::string either(const SyntheticLabels& labels) {
  if (labels.classes.value || labels.label_shape.value) return "";
  return "expected 'classes', 'label_shape' or both, found neither; add one";
}

}  // namespace

config::Section<SyntheticLabels> SyntheticLabels::section() {
  return config::Section<SyntheticLabels>("Synthetic labels of an output.")
      .key("classes", &SyntheticLabels::classes,
           "Number of classes, if labels are class numbers: one, or several in `label_shape`.",
           config::between(1, 1 << 20))
      .key("label_shape", &SyntheticLabels::label_shape,
           "Shape of one label: of real numbers or, with `classes`, of class numbers; [] for a scalar.",
           config::between(1, 1 << 30));
}

config::Section<Synthetic> Synthetic::section() {
  return config::Section<Synthetic>(
             "Synthetic data: features uniform in [0, 1), and labels computed from them, so that they can be learned.")
      .key("examples", &Synthetic::examples, "Number of examples.", config::required, config::between(1, 1 << 30))
      .key("shape", &Synthetic::shape, "Shape of one example.", config::required_unless("inputs", {}),
           config::non_empty, config::between(1, 1 << 30))
      .key("inputs", &Synthetic::inputs,
           "In place of `shape`: that of each input of the model, as {INPUT: {shape: [8]}, INPUT: {shape: [], below: "
           "100}}.",
           config::excludes("shape"))
      .include(&Synthetic::only)
      .key("labels", &Synthetic::labels,
           "In place of `classes` and `label_shape`: these for each output of the model, as {OUTPUT: {classes: "
           "2}, OUTPUT: {label_shape: [1]}}.",
           kLabelsAliases)
      .key("seed", &Synthetic::seed, "Random seed of the examples.", config::aliases("random_seed, manual_seed"))
      .relation(fmt::format(R"({{"anyOf": [{{"required": ["labels"]}}, {}]}})", kEither))
      .check("",
             [](const Synthetic& options) -> std::string {
               if (options.labels.empty()) return either(options.only);
               const bool has_only = options.only.classes.value || options.only.label_shape.value;
               return has_only ? "expected `labels`, or 'classes' and 'label_shape', found both; remove one" : "";
             })
      .check("labels", [](const Synthetic& options) -> std::string {
        for (const auto& [name, labels] : options.labels.entries) {
          if (const std::string wrong = either(labels); !wrong.empty()) return fmt::format("{}: {}", name, wrong);
        }
        return "";
      });
}

std::vector<SyntheticInput> Synthetic::all_inputs() const {
  std::vector<SyntheticInput> all;
  for (const auto& [name, input] : inputs.entries) all.push_back({name, input.shape, input.below});
  if (all.empty() && shape.value) all.push_back({"", {*shape.value, shape.place, shape.path}});
  return all;
}

std::vector<SyntheticLabels> Synthetic::all_labels() const {
  if (labels.empty()) return {only};
  std::vector<SyntheticLabels> all;
  for (const auto& [name, one] : labels.entries) all.push_back({name, one.classes, one.label_shape});
  return all;
}

FieldNames Synthetic::field_names() const {
  FieldNames names;
  for (const SyntheticInput& input : all_inputs()) names.inputs.push_back(input.name);
  for (const SyntheticLabels& label : all_labels()) names.outputs.push_back(label.name);
  return names;
}

Examples read(const Synthetic& source) {
  const Philox philox = Philox::with_key(source.seed);
  Inputs inputs(philox, source);
  struct Output {
    Labels labels;
    std::size_t classes;  ///< 0: real numbers
    Teacher teacher;
    std::vector<float> values;
  };
  std::vector<Output> outputs;
  for (const SyntheticLabels& options : source.all_labels()) {
    const std::string of = options.name.empty() ? "" : fmt::format(" of '{}'", options.name);
    Array array(options.classes.value ? DType::kInt32 : DType::kFloat32, options.shape().with_rows(source.examples),
                "the synthetic labels" + of);
    const std::int64_t classes = options.classes.value.value_or(0);
    const auto width = static_cast<std::size_t>(std::max<std::int64_t>(classes, 1) * array.row_elements());
    outputs.push_back({{options.name, std::move(array)},
                       static_cast<std::size_t>(classes),
                       Teacher(philox, weights_stream(outputs.size()), inputs.looked_at(), width),
                       std::vector<float>(width)});
  }
  for (std::int64_t row = 0; row < source.examples; ++row) {
    const std::span<const float> features = inputs.make(row);
    const auto at = static_cast<std::size_t>(row);
    for (auto& [labels, classes, teacher, values] : outputs) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = teacher(features, i);
      if (classes > 0) {
        const std::size_t numbers = values.size() / classes;
        for (std::size_t i = 0; i < numbers; ++i) {
          const auto of_number = std::span(values).subspan(i * classes, classes);
          const auto largest = std::ranges::max_element(of_number) - of_number.begin();
          labels.array.span<std::int32_t>()[at * numbers + i] = static_cast<std::int32_t>(largest);
        }
      } else {
        std::ranges::copy(values, labels.array.span<float>().begin() + static_cast<std::ptrdiff_t>(at * values.size()));
      }
    }
  }
  Examples examples{std::move(inputs).take(), {}};
  for (Output& output : outputs) examples.outputs.push_back(std::move(output.labels));
  return examples;
}

}  // namespace mirrortrain::data
