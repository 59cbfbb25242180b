#include "cli/meshes.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "strategy/strategy_options.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::cli {
namespace {

/// The overrides, and these of the strategy.
std::vector<std::string> with(std::vector<std::string> overrides, const std::vector<std::string>& of_strategy) {
  for (const std::string& one : of_strategy) overrides.push_back("strategy." + one);
  return overrides;
}

}  // namespace

std::vector<Mesh> parse_meshes(const std::string& text) {
  std::vector<Mesh> meshes;
  for (const std::string& one : CLI::detail::split(text, ',')) {
    Mesh mesh;
    char rest = 0;
    if (std::sscanf(one.c_str(), "%dx%d%c", &mesh.data, &mesh.model, &rest) != 2 || mesh.data < 1 || mesh.model < 1 ||
        mesh.data > 1024 || mesh.model > 1024) {
      throw UsageError(fmt::format(
          "--mesh: expected meshes as data x model, each from 1 to 1024, 1x1,2x1,1x2, found '{}'", shortened(one)));
    }
    const auto is_same = [&](const Mesh& other) { return other.data == mesh.data && other.model == mesh.model; };
    if (std::ranges::none_of(meshes, is_same)) meshes.push_back(mesh);
  }
  return meshes;
}

CheckedForMeshes::CheckedForMeshes(std::string file, std::vector<std::string> overrides)
    : file_(std::move(file)),
      overrides_(std::move(overrides)),
      whole_(check_configuration(file_, with(overrides_, {"mesh=null"}))) {}

const CheckedConfiguration& CheckedForMeshes::of_places(int places) {
  if (places == 1) return whole_;
  const auto found = of_places_.find(places);
  if (found != of_places_.end()) return found->second;
  const std::vector<std::string> on_one_device = {"replicas=null", "cpu_replicas=null", "devices=[cpu:0]",
                                                  fmt::format("type={}", declaration_of(kReplicasInProcess).name),
                                                  fmt::format("mesh={{data: 1, model: {}}}", places)};
  return of_places_.emplace(places, check_configuration(file_, with(overrides_, on_one_device))).first->second;
}

}  // namespace mirrortrain::cli
