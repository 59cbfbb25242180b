#pragma once

#include <map>
#include <string>
#include <vector>

#include "strategy/topology.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::cli {

/// The value of --mesh, "1x1,2x1,1x2": data x model, without duplicates, as listed. Throws UsageError.
std::vector<Mesh> parse_meshes(const std::string& text);

/// A configuration checked for meshes, whatever its own and its devices are: once for each number of places of a
/// replica.
class CheckedForMeshes {
 public:
  /// Throws as check_configuration does.
  CheckedForMeshes(std::string file, std::vector<std::string> overrides);

  /// Without a mesh, and with the configuration's own devices.
  const CheckedConfiguration& whole() const { return whole_; }
  /// With layers for so many places. Valid as long as this. Throws as check_configuration does.
  const CheckedConfiguration& of_places(int places);

 private:
  const std::string file_;
  const std::vector<std::string> overrides_;
  const CheckedConfiguration whole_;
  std::map<int, CheckedConfiguration> of_places_;
};

}  // namespace mirrortrain::cli
