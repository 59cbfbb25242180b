#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/tables/adapted.h"
#include "train/configuration/checked_configuration.h"
#include "train/warnings/feature_scale.h"

namespace mirrortrain {

/// Finds features among the first examples of new data that are of another scale than those of the training: around 1
/// already, where rescaling makes them nearly 0; or, where the training data's statistics are known, in other units.
class NewScale {
 public:
  /// `checked` must outlive this. `adapted`: to the training data; may be null. `sizes`: the training data's, for
  /// inputs without such statistics; empty if they are not known.
  explicit NewScale(const CheckedConfiguration& checked, const data::Adapted* adapted = nullptr,
                    const FeatureSizes& sizes = {});

  /// Looks at the next examples, if there were not enough before.
  void add(const data::Dataset& examples);
  bool has_enough() const;
  /// A remark; "" for others.
  std::string text() const;

 private:
  /// What is said of features in other units than in the training; "" of others.
  std::string other_units(std::size_t input) const;

  /// What is known of an input's channels in the training.
  struct OfTraining {
    std::vector<double> sizes;  ///< by channel
    bool are_largest = false;   ///< rather than usual ones
  };
  void know_normalized(const data::Adapted& adapted);

  const CheckedConfiguration& checked_;
  std::map<std::size_t, OfTraining> of_training_;
  std::vector<double> largest_;                          ///< by input
  std::map<std::size_t, std::vector<double>> channels_;  ///< the largest number of each, by input
  std::int64_t rows_ = 0;
};

}  // namespace mirrortrain
