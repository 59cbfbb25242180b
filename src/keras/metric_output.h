#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/losses.h"

namespace mirrortrain::keras {

// Keras's metrics compare what the model puts out, whatever the loss takes it for. Metrics here see probabilities where
// the loss takes logits, and signs where it is a hinge loss. So the same words may be another figure.

/// What an output is to the metrics here.
enum class OutputSeen : std::uint8_t {
  kAsItIs,          ///< as Keras's see it: probabilities, or numbers
  kThroughSigmoid,  ///< logits there, probabilities here: a threshold there is another one here
  kThroughSoftmax,  ///< the same, but no threshold there is one here, as it depends on the other classes' logits
  kBySign           ///< compared with 0
};

/// nullopt, as of a loss that could not be read: as it is.
OutputSeen output_seen(const std::optional<Loss>& loss);

/// What a metric here, by its name, does with an output.
enum class MetricKind : std::uint8_t {
  kCounts,          ///< above a threshold, in Keras of 0 to 1, or of the largest: precision, true_positives, ...
  kSides,           ///< of any threshold: binary_accuracy, binary_iou
  kFScores,         ///< f1_score, fbeta_score: above a threshold, in Keras above 0 and up to 1, or the largest
  kAuc,             ///< with an option from_logits, which is a sigmoid
  kAtBound,         ///< at thresholds from 0 to 1: precision_at_recall, ...
  kDivergence,      ///< of probabilities alone
  kCrossentropies,  ///< with an option from_logits
  kOther            ///< of the output as it is, or of which class's is the largest
};

MetricKind metric_kind(std::string_view name);

}  // namespace mirrortrain::keras
