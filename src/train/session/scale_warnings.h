#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/errors.h"
#include "data/dataset.h"
#include "train/session/check_configuration.h"
#include "train/session/data_warnings.h"

namespace mirrortrain {

/// Warns of features of very different or large scale that no transform or layer normalizes, of equal features, and of
/// splits whose features are on another scale than the training data's.
void warn_of_scales(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors);

/// Finds features that are around 1 already and that rescaling makes nearly 0, among the first examples of new data.
class RescaledTwice {
 public:
  /// `checked` must outlive this.
  explicit RescaledTwice(const CheckedConfiguration& checked) : checked_(checked) {}

  /// Looks at the next examples, if there were not enough before.
  void add(const data::Dataset& examples);
  bool has_enough() const;
  /// A remark; "" for others.
  std::string text() const;

 private:
  const CheckedConfiguration& checked_;
  std::vector<double> largest_;  ///< by input
  std::int64_t rows_ = 0;
};

}  // namespace mirrortrain
