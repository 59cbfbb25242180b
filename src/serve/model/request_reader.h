#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/feeding/feeder.h"
#include "data/tables/csv.h"
#include "serve/model/request_table.h"
#include "serve/model/served_input.h"
#include "serve/tensors/tensor.h"
#include "train/inference/prediction.h"

namespace mirrortrain {

/// Examples as the model takes them: preprocessed, float32.
struct ReadyExamples {
  std::int64_t rows = 0;
  std::vector<std::vector<float>> inputs;  ///< of each input of the model, [rows, its shape]
};

/// Makes examples of requests' tensors, by the same preprocessing as `predict`. Thread-safe.
class RequestReader {
 public:
  /// `checked` must outlive the reader. `adapted`: as kept by the run. `most_bytes`: of the pixels of all encoded
  /// pictures of a request.
  RequestReader(const CheckedConfiguration& checked, data::Adapted adapted, std::vector<ServedInput> inputs,
                std::size_t most_bytes);

  const std::vector<ServedInput>& inputs() const { return inputs_; }
  /// Throws Refused, naming the input, for tensors that are missing, unknown or do not fit.
  ReadyExamples read(const std::vector<Tensor>& tensors) const;

 private:
  /// Of each of inputs_.
  using Given = std::vector<const Tensor*>;
  void require_possible_pictures(const Given& given) const;
  Given arranged(const std::vector<Tensor>& tensors) const;
  /// `count` rows from `first` on.
  std::vector<data::Features> features_of(const Given& given, std::int64_t first, std::int64_t count) const;
  data::Features pictures_of(const Tensor& tensor, const data::PictureForm& form, std::int64_t first,
                             std::int64_t count) const;
  void append(std::vector<data::Features> features, std::int64_t expected, ReadyExamples& to) const;

  const CheckedConfiguration& checked_;
  std::vector<ServedInput> inputs_;
  std::size_t most_bytes_;
  std::vector<data::PreprocessingStep> preprocessing_;
  data::ExampleSpec spec_;  ///< of examples as they are read
  data::Wanted wanted_;
  std::optional<RequestTable> table_;                    ///< null if the run was trained on none
  std::vector<std::optional<data::PictureForm>> forms_;  ///< of each input of the model
  bool one_by_one_ = false;                              ///< pictures have any size
};

}  // namespace mirrortrain
