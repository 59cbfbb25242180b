#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// What the model's output says of an example. The axes before the last are steps: where there are any, each has a
/// prediction of its own, else the example has one.
struct OutputMeaning {
  enum class Kind : std::uint8_t {
    kClasses,  ///< the last axis has one number for each class
    kYesOrNo,  ///< the last axis has one number: whether it is class 1 rather than 0; of steps where a metric says so
    kNumbers,  ///< what the model computes is the prediction
  };
  Kind kind = Kind::kNumbers;
  bool is_logits = false;
  Shape shape;                       ///< of one example's output
  std::vector<std::string> classes;  ///< their names; empty where they have none
  double threshold = 0.5;            ///< of kYesOrNo: a probability above it is class 1

  std::int64_t elements() const { return shape.elements(); }
  bool tells_classes() const { return kind != Kind::kNumbers; }

  // Of kClasses and kYesOrNo.
  Shape steps() const { return Shape({shape.begin(), shape.end() - 1}); }
  bool is_by_step() const { return shape.rank() > 1; }
  /// How many predictions an example has.
  std::int64_t predictions() const { return steps().elements(); }
  std::int64_t number_of_classes() const { return kind == Kind::kYesOrNo ? 2 : shape.back(); }
  /// One of an example's predictions, for what follows.
  std::span<const float> of_step(std::span<const float> output, std::int64_t step) const;
  /// The class with the largest probability, the first of several.
  std::int64_t class_of(std::span<const float> prediction) const;
  /// The probability of that class.
  double probability_of_class(std::span<const float> prediction) const;
  /// Of each class, both of kYesOrNo.
  std::vector<float> class_probabilities(std::span<const float> prediction) const;
  /// The name of a class; "" where it has none.
  std::string name_of(std::int64_t number) const;

  /// Of each class (kYesOrNo: of class 1) at each step, where the output is of classes; else the output itself.
  std::vector<float> probabilities(std::span<const float> output) const;
};

OutputMeaning output_meaning(const CheckedConfiguration& checked, std::vector<std::string> classes);

/// The model's output for an example.
struct ExampleOutput {
  std::span<const float> values{};
  std::span<const float> mask{};  ///< 0 for each step that is padding; empty where the output carries no mask

  bool counts(std::int64_t step) const { return mask.empty() || mask[static_cast<std::size_t>(step)] != 0; }
};

/// Of such a prediction there is no class.
bool has_nan(std::span<const float> prediction);
/// Whether a prediction has that counts.
bool has_nan(const OutputMeaning& meaning, const ExampleOutput& output);

enum class PredictionFormat : std::uint8_t { kCsv, kNpy, kJsonl };

/// Takes predictions one after the other, and writes them to a file that appears when all are there, or to stdout.
class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;
  /// `file`: the example's, where each has one of its own, else empty. `extra`: the cells of
  /// PredictionOutput::extra_columns.
  virtual void write(std::int64_t index, const ExampleOutput& output, const std::string& file,
                     std::span<const std::string> extra) = 0;
  virtual void finish() = 0;
};

struct PredictionOutput {
  std::optional<std::filesystem::path> file;  ///< absent: stdout
  PredictionFormat format = PredictionFormat::kCsv;
  bool probabilities = false;
  std::vector<std::string> extra_columns{};  ///< from the data, behind the others; not in npy
  std::int64_t rows = 0;
};
/// `meaning` must outlive the writer.
std::unique_ptr<PredictionWriter> make_prediction_writer(const PredictionOutput& output, const OutputMeaning& meaning);

}  // namespace mirrortrain
