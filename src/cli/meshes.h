#pragma once

#include <string>
#include <vector>

#include "strategy/topology.h"

namespace mirrortrain::cli {

/// The value of --mesh, "1x1,2x1,1x2": data x model, without duplicates, as listed. Throws UsageError.
std::vector<Mesh> parse_meshes(const std::string& text);

/// The overrides with which a configuration is checked for a mesh, whatever its own and its devices are; one of a
/// single place leaves the devices.
std::vector<std::string> with_mesh(std::vector<std::string> overrides, const Mesh& mesh);

}  // namespace mirrortrain::cli
