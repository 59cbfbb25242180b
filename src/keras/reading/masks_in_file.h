#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "keras/layer_order.h"
#include "keras/reading/network.h"

namespace mirrortrain::keras {

/// A comparison that makes a mask, of a tensor with a number: NotEqual. One that is none stands for 0.
std::string comparison(const Tensor& of, const Json& number);

/// The masks that a file names beside the tensors of calls, as operations.
class MasksInFile {
 public:
  /// The network outlives this.
  explicit MasksInFile(const Network& network) : network_(network) {}

  /// The comparisons that a mask is made of as Keras itself makes and joins masks (compute_mask of its layers); nullopt
  /// for one that it would not make, empty for one of ones or zeros.
  std::optional<std::set<std::string>> makers_of(const Tensor& mask) { return makers_of(mask, 0); }

 private:
  std::optional<std::set<std::string>> makers_of(const Tensor& mask, int level);
  std::optional<std::set<std::string>> made_by(const NetworkLayer& operation, const Call& call, int level);

  const Network& network_;
  std::map<LayerCall, std::optional<std::set<std::string>>> known_;  ///< the same one is part of many
};

}  // namespace mirrortrain::keras
