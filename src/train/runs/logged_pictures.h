#pragma once

#include <cstdint>

#include "base/safetensors.h"
#include "report/event.h"
#include "train/session/run.h"

namespace mirrortrain {

/// Pictures for TensorBoard: the first `most` examples of the first epoch's first batch, for each input of the model
/// that is a picture, as the layers get them in training: preprocessed, with random transforms. The least number is
/// black and the largest white unless all are in [0, 1] or [0, 255].
report::PicturesEvent input_pictures(const CheckedConfiguration& checked, const Run& run, std::int64_t most);

/// The `most` pictures of the test data, else of the validation data, that the model with these weights takes for
/// another class with the highest probability; as read, and a table of both classes and the probability. Without any
/// where no output predicts one class of each example. Computed on this machine alone.
report::PicturesEvent mistaken_pictures(const CheckedConfiguration& checked, const Run& run,
                                        const StoredTensors& weights, std::int64_t most);

}  // namespace mirrortrain
