#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/loading/load.h"
#include "data/tables/adapted.h"
#include "report/page/page.h"
#include "strategy/strategy.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// What is predicted for a page, and with which weights.
struct PageExamples {
  data::Split split = data::Split::kTest;
  const data::Dataset& dataset;
  const data::Adapted& adapted;  ///< as kept by the run
  std::int64_t step = 0;         ///< of the weights; 0 if unknown
  std::function<void(Strategy& strategy)> load_weights;
};

/// Whether the model has an output of which a page shows predictions; adds why not otherwise.
bool has_shown_outputs(const CheckedConfiguration& checked, const data::Adapted* adapted, report::RunPage& page);

/// Computes the examples on this machine, and adds how good the predictions are: the classes of each output that
/// predicts some, the errors of each that is numbers, and the misclassified pictures. Returns the first classes of the
/// first example, which of a text are the tokens that it begins with. Throws Error.
std::vector<std::int32_t> add_predictions(const CheckedConfiguration& checked, const PageExamples& examples,
                                          report::RunPage& page);

/// Adds what a language model makes of a text that begins with these tokens, sampled and most probable; nothing if the
/// model is none that `generate` takes. Throws Error.
void add_texts(CheckedConfiguration checked, const PageExamples& examples, std::span<const std::int32_t> beginning,
               report::RunPage& page);

}  // namespace mirrortrain
