#include "cli/meshes.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
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

/// "4x2"; nothing for anything else, or for numbers that are none of a mesh.
std::optional<Mesh> parse_mesh(std::string_view text) {
  constexpr int kMost = 1024;
  const std::size_t times = text.find('x');
  if (times == text.npos) return std::nullopt;
  const auto number = [](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
    return is_whole && value >= 1 && value <= kMost ? std::optional(value) : std::nullopt;
  };
  const std::optional<int> data = number(text.substr(0, times)), model = number(text.substr(times + 1));
  return data && model ? std::optional(Mesh{*data, *model}) : std::nullopt;
}

}  // namespace

std::vector<Mesh> parse_meshes(const std::string& text) {
  std::vector<Mesh> meshes;
  for (const std::string& one : CLI::detail::split(text, ',')) {
    const std::optional<Mesh> mesh = parse_mesh(one);
    if (!mesh) {
      throw UsageError(fmt::format(
          "--mesh: expected meshes as data x model, each from 1 to 1024, 1x1,2x1,1x2, found '{}'", shortened(one)));
    }
    const auto is_same = [&](const Mesh& other) { return other.data == mesh->data && other.model == mesh->model; };
    if (std::ranges::none_of(meshes, is_same)) meshes.push_back(*mesh);
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
