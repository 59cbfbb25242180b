#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace mirrortrain::report {

/// The examples whose predicted class has a probability from `from` to `to`.
struct CalibrationBin {
  double from = 0, to = 0;
  std::int64_t examples = 0;
  double confidence = 0, accuracy = 0;  ///< their mean probability, and the part that is right
};

/// How good predictions of two classes are where class 1 is predicted from this probability on.
struct ThresholdFigures {
  double threshold = 0, recall = 0, false_positive_rate = 0, precision = 0;
};

/// How near an output of numbers is to its labels. Several numbers of an example count as several examples.
struct NumberFigures {
  std::string split{};
  std::int64_t step = 0;  ///< of the weights; 0 if unknown
  std::string output{};   ///< of one of several outputs of the model: its name
  std::int64_t count = 0;
  double mean_error = 0, mean_absolute_error = 0, root_mean_squared_error = 0;
  double r2 = 0;                                    ///< NaN if all labels are equal
  std::vector<std::pair<double, double>> sample{};  ///< label and prediction of some examples, spread evenly
};

/// A text that a language model continued.
struct GeneratedText {
  std::string prompt, text;
  double temperature = 1;
};

}  // namespace mirrortrain::report
