#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"
#include "data/tables/adapted.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// The meaning of one of the model's outputs for an example. The axes before the last are time steps: if there are any,
/// each has its own prediction, otherwise the example has one.
struct OutputMeaning {
  enum class Kind : std::uint8_t {
    kClasses,  ///< the last axis has one number for each class
    kYesOrNo,  ///< the last axis has one number: whether it is class 1 rather than 0; of steps where a metric says so
    kNumbers,  ///< the output itself is the prediction
  };
  Kind kind = Kind::kNumbers;
  bool is_logits = false;
  Shape shape;                                  ///< of one example's output
  std::vector<std::string> classes;             ///< their names; empty if they have none
  double threshold = 0.5;                       ///< for kYesOrNo: a probability above it is class 1
  std::string name{};                           ///< of one of several outputs; empty for the only one
  std::string layer{};                          ///< whose output it is
  std::optional<std::int64_t> ignored_label{};  ///< positions with it are not counted

  std::int64_t elements() const { return shape.elements(); }
  bool tells_classes() const { return kind != Kind::kNumbers; }
  /// Of classes, or of numbers that are logits, as of a model of several labels.
  bool has_probabilities() const { return tells_classes() || is_logits; }

  // For kClasses and kYesOrNo.
  Shape steps() const { return Shape({shape.begin(), shape.end() - 1}); }
  bool is_by_step() const { return shape.rank() > 1; }
  /// The number of predictions of an example.
  std::int64_t predictions() const { return steps().elements(); }
  std::int64_t number_of_classes() const { return kind == Kind::kYesOrNo ? 2 : shape.back(); }
  /// One of an example's predictions, for the functions below.
  std::span<const float> of_step(std::span<const float> output, std::int64_t step) const;
  /// The class with the largest probability, the first if there are several.
  std::int64_t class_of(std::span<const float> prediction) const;
  /// The probability of that class.
  double probability_of_class(std::span<const float> prediction) const;
  /// The probability of each class, including both of kYesOrNo.
  std::vector<float> class_probabilities(std::span<const float> prediction) const;
  /// The name of a class; "" if it has none.
  std::string name_of(std::int64_t number) const;

  /// The probability of each class (kYesOrNo: of class 1) at each time step if the output is of classes; else the
  /// output itself.
  std::vector<float> probabilities(std::span<const float> output) const;
};

/// The meanings of the model's outputs. `adapted`: has the names of classes; null if there are none.
std::vector<OutputMeaning> output_meanings(const CheckedConfiguration& checked, const data::Adapted* adapted);

/// What the probabilities of each output are called beside the outputs themselves, which have their layers' names:
/// "probabilities", or "NAME_probabilities" of one of several; empty for outputs that have none. None has the
/// name of an input or of another output.
std::vector<std::string> names_of_probabilities(const std::vector<OutputMeaning>& meanings,
                                                const std::vector<std::string>& inputs);

/// One of the model's outputs for an example.
struct ExampleOutput {
  std::span<const float> values{};
  std::span<const float> mask{};  ///< 0 for each time step that is padding; empty if the output has no mask

  bool counts(std::int64_t step) const { return mask.empty() || mask[static_cast<std::size_t>(step)] != 0; }
};

/// Such a prediction has no class.
bool has_nan(std::span<const float> prediction);
/// Whether any prediction that is not padding has NaN.
bool has_nan(const OutputMeaning& meaning, const ExampleOutput& output);

enum class PredictionFormat : std::uint8_t { kCsv, kNpy, kNpz, kJsonl };

/// Whether it holds arrays, with a row for every example, also for those that were left out.
constexpr bool is_of_arrays(PredictionFormat format) {
  return format == PredictionFormat::kNpy || format == PredictionFormat::kNpz;
}

/// Writes predictions one by one, to a file that appears once all are written, or to stdout.
class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;
  /// `outputs`: of the model, in their order. `file`: the example's file, if each has its own, else empty. `extra`: the
  /// cells of PredictionOutput::extra_columns.
  virtual void write(std::int64_t index, std::span<const ExampleOutput> outputs, const std::string& file,
                     std::span<const std::string> extra) = 0;
  virtual void finish() = 0;
  /// Lets a reader of stdout see what was written so far.
  virtual void flush() {}
};

struct PredictionOutput {
  std::optional<std::filesystem::path> file;  ///< absent: stdout
  PredictionFormat format = PredictionFormat::kCsv;
  bool probabilities = false;
  std::vector<std::string> extra_columns{};  ///< from the data, after the other columns; not in arrays
  std::size_t kept_columns = 0;              ///< how many of them, the first ones, are columns of the data
  std::vector<bool> extra_numbers{};         ///< which of them are numbers, where that is known; may be shorter
  bool is_kept_json = false;                 ///< whether the cells of those that are kept are JSON
  bool of_files = false;                     ///< whether each example has its own file
};
/// Writes nothing: of workers that predict together, one writes.
class NoPredictions : public PredictionWriter {
 public:
  void write(std::int64_t, std::span<const ExampleOutput>, const std::string&, std::span<const std::string>) override {}
  void finish() override {}
};

/// `meanings`, of the model's outputs, must outlive the writer.
std::unique_ptr<PredictionWriter> make_prediction_writer(const PredictionOutput& output,
                                                         const std::vector<OutputMeaning>& meanings);

}  // namespace mirrortrain
