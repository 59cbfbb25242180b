#include "launch/machine_part.h"

#include <fmt/format.h>

#include "launch/cores.h"

namespace mirrortrain::launch {

MachinePart part_of_machine(std::span<const int> cores, std::size_t gpus, int part, int parts) {
  MachinePart own;
  if (parts == 1) return own;
  const Share of_cores = share_of(cores.size(), part, parts);
  const auto own_cores = cores.subspan(of_cores.first, of_cores.count);
  own.cores.assign(own_cores.begin(), own_cores.end());
  const Share of_gpus = share_of(gpus, part, parts);
  for (std::size_t i = 0; i < of_gpus.count; ++i) {
    own.gpus += fmt::format("{}{}", i > 0 ? "," : "", of_gpus.first + i);
  }
  return own;
}

}  // namespace mirrortrain::launch
