#include "device/cuda/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mirrortrain::cuda {
namespace {

bool runs_on_one(std::string_view architecture, int major, int minor) {
  int number = 0;
  const auto [end, error] = std::from_chars(architecture.data(), architecture.data() + architecture.size(), number);
  if (error != std::errc()) return false;
  const std::string_view rest(end, static_cast<std::size_t>(architecture.data() + architecture.size() - end));
  const bool same_family = major == number / 10 && minor >= number % 10;
  if (rest.starts_with('a')) return major * 10 + minor == number;
  if (rest.starts_with('f') || rest == "-real") return same_family;
  return major * 10 + minor >= number;  // PTX
}

}  // namespace

bool runs_on(std::string_view architectures, int major, int minor) {
  while (!architectures.empty()) {
    const std::string_view one = architectures.substr(0, architectures.find(','));
    if (runs_on_one(one, major, minor)) return true;
    architectures.remove_prefix(std::min(architectures.size(), one.size() + 1));
  }
  return false;
}

std::string describe(const Gpus& gpus, std::size_t index) {
  const Gpu& gpu = gpus.gpus[index];
  std::string line = fmt::format("{}, {:.1f} GiB, compute capability {}.{}", gpu.name,
                                 static_cast<double>(gpu.memory_bytes) / (1 << 30), gpu.major, gpu.minor);
  for (const Link link : {Link::kNvlink, Link::kPcie, Link::kThroughHost}) {
    std::string others;
    for (std::size_t other = 0; other < gpu.links.size(); ++other) {
      if (other != index && gpu.links[other] == link)
        others += fmt::format("{}cuda:{}", others.empty() ? "" : " ", other);
    }
    if (others.empty()) continue;
    line += fmt::format(", {} {}",
                        link == Link::kNvlink ? "NVLink to"
                        : link == Link::kPcie ? "PCIe to"
                                              : "through the host to",
                        others);
  }
  return line;
}

}  // namespace mirrortrain::cuda
