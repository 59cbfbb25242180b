#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/records/webdataset.h"

namespace mirrortrain::data {

/// What the labels of samples are where there is one output.
struct SampleLabels {
  const std::vector<std::string>* classes = nullptr;  ///< the training data's; null: these are the training data
  bool are_numbers = false;                           ///< numbers to predict instead of classes
};

/// Samples and, if their labels are words, their classes.
struct ClassedSamples {
  Examples examples;
  std::vector<std::string> classes;  ///< sorted; empty if labels are numbers
};

/// Whether a text, without outer spaces, may be the name of a class: not empty, of one line, and no JSON.
bool may_name_class(std::string_view text);

/// The same as open_samples, whose labels may be words: those of the first sample are, then all are, and each different
/// one is a class. Throws Error for words that are none of the training data's.
ClassedSamples open_classed_samples(const WebDataset& source, const SampleLabels& labels, BadExamples* bad,
                                    const UnpackedFiles& cache);

}  // namespace mirrortrain::data
