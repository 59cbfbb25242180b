#include "train/runs/worker_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "report/format.h"

namespace mirrortrain {
namespace {

using Lines = std::vector<std::pair<std::string_view, std::size_t>>;

// As measured on x86-64 with gRPC 1.51: the control plane's connections, their threads and the libraries' tables; what
// the chief needs beside its part to write events, checkpoints and the page.
constexpr std::size_t kConnections = std::size_t{8} << 20, kChiefsFiles = std::size_t{3} << 20;

Lines lines_of(const Run& run) {
  const Topology& topology = run.strategy->topology();
  if (topology.cluster.workers == 1 || topology.on_gpus()) return {};
  const MemoryForecast memory = run.strategy->memory();
  return {{"program and libraries", run.memory_of_program},
          {"connections to other tasks", kConnections},
          {"data", run.memory_of_data},
          {"variables, gradients and optimizer", memory.variables},
          {"activations and inputs", memory.activations},
          {"directions of whole variables", memory.directions},
          {"gradients received from other workers", memory.received},
          {"memory shared with other workers", memory.shared},
          {"window for checkpoints", memory.window}};
}

/// Of the best epoch's weights, if the chief keeps them.
std::size_t kept_weights(const CheckedConfiguration& checked) {
  const bool keeps = std::ranges::any_of(checked.values().callbacks, [](const auto& callback) {
    const auto* const early = std::get_if<EarlyStopping>(&callback.value);
    return early != nullptr && early->restore_best;
  });
  std::size_t bytes = 0;
  for (const ModelVariable& variable : checked.model->variables) {
    bytes += static_cast<std::size_t>(variable.spec.shape.elements()) * sizeof(float);
  }
  return keeps ? bytes : 0;
}

}  // namespace

std::size_t worker_memory(const Run& run) {
  std::size_t all = 0;
  for (const auto& [what, bytes] : lines_of(run)) all += bytes;
  return all;
}

std::string worker_memory_text(const CheckedConfiguration& checked, const Run& run) {
  Lines lines = lines_of(run);
  if (lines.empty() || !checked.has_model()) return "";
  lines.emplace_back("files that the chief writes", kChiefsFiles);
  lines.emplace_back("best epoch's weights, which the chief keeps", kept_weights(checked));
  std::erase_if(lines, [](const auto& line) { return line.second == 0; });
  std::size_t all = 0, widest = 0;
  for (const auto& [what, bytes] : lines) {
    all += bytes;
    widest = std::max(widest, what.size());
  }
  std::string text = fmt::format("memory of this worker: about {}\n", report::bytes_text(all));
  for (const auto& [what, bytes] : lines) text += fmt::format("  {:{}}  {}\n", what, widest, report::bytes_text(bytes));
  return text;
}

}  // namespace mirrortrain
