#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"
#include "train/check_configuration.h"

namespace mirrortrain {

/// What the model's output says of an example.
struct OutputMeaning {
  enum class Kind : std::uint8_t {
    kClasses,  ///< one number for each class
    kYesOrNo,  ///< one number: whether it is class 1 rather than 0
    kNumbers,  ///< what the model computes is the prediction
  };
  Kind kind = Kind::kNumbers;
  bool is_logits = false;
  Shape shape;                       ///< of one example's output
  std::vector<std::string> classes;  ///< their names; empty where they have none
  bool is_of_classes = false;        ///< the last axis has a number for each class: of the example or of each step

  std::int64_t elements() const { return shape.elements(); }
  /// Of kClasses and kYesOrNo: the class with the largest probability, the first of several.
  std::int64_t class_of(std::span<const float> output) const;
  /// Of kClasses and kYesOrNo: the probability of that class.
  double probability_of_class(std::span<const float> output) const;
  /// The name of a class; "" where it has none.
  std::string name_of(std::int64_t number) const;
  /// Of each class (kYesOrNo: of class 1), where the output tells of classes, at each step that has them; else the
  /// output itself.
  std::vector<float> probabilities(std::span<const float> output) const;
};

OutputMeaning output_meaning(const CheckedConfiguration& checked, std::vector<std::string> classes);

enum class PredictionFormat : std::uint8_t { kCsv, kNpy, kJsonl };

/// Takes predictions one after the other, and writes them to a file that appears when all are there, or to stdout.
class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;
  /// `file`: the example's, where each has one of its own, else empty.
  virtual void write(std::int64_t index, std::span<const float> output, const std::string& file) = 0;
  virtual void finish() = 0;
};

struct PredictionOutput {
  std::optional<std::filesystem::path> file;  ///< absent: stdout
  PredictionFormat format = PredictionFormat::kCsv;
  bool probabilities = false;
  std::int64_t rows = 0;
};
/// `meaning` must outlive the writer.
std::unique_ptr<PredictionWriter> make_prediction_writer(const PredictionOutput& output, const OutputMeaning& meaning);

}  // namespace mirrortrain
