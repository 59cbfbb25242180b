#pragma once

#include <memory>
#include <vector>

#include "keras/problems.h"
#include "keras/reading/network.h"

namespace mirrortrain::keras {

/// Layers with other options than in the file, which it keeps: layers only refer to theirs.
class ChangedLayers {
 public:
  /// Problems are reported to `problems`.
  explicit ChangedLayers(Problems& problems) : problems_(problems) {}

  /// A layer whose activation is a layer of its own, without it.
  NetworkLayer without_activation(const NetworkLayer& layer);
  /// A layer of a model over time: TimeDistributed by itself, unless it is that anyway.
  NetworkLayer over_time(const NetworkLayer& layer, const Call& call);

 private:
  NetworkLayer with_options(NetworkLayer layer, Json options);

  Problems& problems_;
  std::vector<std::shared_ptr<const Json>> options_;
};

/// Whether a layer's activation is the last that it does, so that a layer behind it may do the same.
bool ends_with_activation(const NetworkLayer& layer);

}  // namespace mirrortrain::keras
