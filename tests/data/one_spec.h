#pragma once

#include "data/example_spec.h"
#include "data/feeding/feeder.h"

namespace mirrortrain::data {

/// What a model of one input and one output requires of examples.
struct OneSpec {
  Shape features{};
  Shape labels{};
  DType labels_dtype = DType::kFloat32;
  std::int64_t classes = 0;
  bool probabilities = false, signs = false, weighted = false, trained = false;
  std::int64_t numbers_below = 0;
  bool pads_with_zero = false, averages_steps = false;

  operator ExampleSpec() const {  // NOLINT(google-explicit-constructor)
    ExampleSpec spec;
    spec.inputs.push_back(
        {"input", features, "model.input_shape", numbers_below, pads_with_zero, averages_steps, trained});
    spec.labels.push_back({.name = "output",
                           .shape = labels,
                           .dtype = labels_dtype,
                           .classes = classes,
                           .probabilities = probabilities,
                           .signs = signs,
                           .weighted = weighted,
                           .trained = trained});
    return spec;
  }
};

/// The buffers of a replica of such a model.
inline BatchBuffers one_batch(TensorView features, TensorView labels, float* weights = nullptr) {
  return {{std::move(features)}, {{std::move(labels), weights, nullptr}}};
}

}  // namespace mirrortrain::data
