#include "cli/meshes.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/utf8.h"
#include "strategy/strategy_options.h"

namespace mirrortrain::cli {

std::vector<Mesh> parse_meshes(const std::string& text) {
  std::vector<Mesh> meshes;
  for (const std::string& one : CLI::detail::split(text, ',')) {
    Mesh mesh;
    char rest = 0;
    if (std::sscanf(one.c_str(), "%dx%d%c", &mesh.data, &mesh.model, &rest) != 2 || mesh.data < 1 || mesh.model < 1 ||
        mesh.data > 1024 || mesh.model > 1024) {
      throw UsageError(fmt::format("--mesh: expected meshes as data x model, 1x1,2x1,1x2, found '{}'", shortened(one)));
    }
    const auto is_same = [&](const Mesh& other) { return other.data == mesh.data && other.model == mesh.model; };
    if (std::ranges::none_of(meshes, is_same)) meshes.push_back(mesh);
  }
  return meshes;
}

std::vector<std::string> with_mesh(std::vector<std::string> overrides, const Mesh& mesh) {
  if (mesh.places() == 1) {
    overrides.emplace_back("strategy.mesh=null");
    return overrides;
  }
  for (const char* const key : {"replicas=null", "cpu_replicas=null", "devices=[cpu:0]"}) {
    overrides.push_back(std::string("strategy.") + key);
  }
  overrides.push_back(fmt::format("strategy.type={}", declaration_of(kReplicasInProcess).name));
  overrides.push_back(fmt::format("strategy.mesh={{data: {}, model: {}}}", mesh.data, mesh.model));
  return overrides;
}

}  // namespace mirrortrain::cli
