#include "launch/machine_part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/utf8.h"
#include "launch/cores.h"

namespace mirrortrain::launch {

std::vector<std::string> visible_gpu_names(std::size_t count) {
  std::vector<std::string> names;
  const char* const value = std::getenv("CUDA_VISIBLE_DEVICES");
  for (std::string_view listed = value == nullptr ? "" : value; !listed.empty() && names.size() < count;) {
    const std::size_t comma = std::min(listed.find(','), listed.size());
    names.emplace_back(without_outer_spaces(listed.substr(0, comma)));
    listed.remove_prefix(std::min(comma + 1, listed.size()));
  }
  while (names.size() < count) names.push_back(fmt::to_string(names.size()));
  return names;
}

MachinePart part_of_machine(std::span<const int> cores, std::span<const std::string> gpus, int part, int parts) {
  MachinePart own;
  if (parts == 1) return own;
  const Share of_cores = share_of(cores.size(), part, parts);
  const auto own_cores = cores.subspan(of_cores.first, of_cores.count);
  own.cores.assign(own_cores.begin(), own_cores.end());
  const Share of_gpus = share_of(gpus.size(), part, parts);
  own.gpus = fmt::format("{}", fmt::join(gpus.subspan(of_gpus.first, of_gpus.count), ","));
  return own;
}

}  // namespace mirrortrain::launch
