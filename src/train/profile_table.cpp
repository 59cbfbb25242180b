#include "train/profile_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"
#include "report/fitted.h"
#include "strategy/topology.h"

namespace mirrortrain {
namespace {

/// An op's work at a number of rows.
struct Work {
  double flops = 0, bytes = 0;
};

/// Multiplications and additions of dense layers and convolutions, two for each multiply-add; 0 for other ops.
double flops_of(const Graph& graph, const Node& node, std::int64_t rows) {
  const std::string_view op = node.op->name();
  const bool convolves = op.find("conv2d") != std::string_view::npos || op.starts_with("conv1d");
  if (!op.starts_with("dense") && !convolves) return 0;
  const bool of_input = op.ends_with("input_gradient"), of_weights = op.ends_with("weight_gradient");
  const ValueId kernel_value = of_weights ? node.outputs[0] : node.inputs[1];
  const ValueId result_value = of_weights ? node.inputs[1] : of_input ? node.inputs[0] : node.outputs[0];
  const Shape& kernel = graph.spec(kernel_value).shape;
  if (kernel.rank() < 2) return 0;
  // A depthwise kernel is [height, width, in, multiplier], and each output has one input channel.
  const bool depthwise = op.starts_with("depthwise");
  const std::int64_t per_output = kernel.elements() / kernel.back() / (depthwise ? kernel[kernel.rank() - 2] : 1);
  const ValueSpec& result = graph.spec(result_value);
  return 2.0 * static_cast<double>(result.shape_at(rows).elements()) * static_cast<double>(per_output);
}

/// Bytes of all values read and written, each once.
double bytes_of(const Graph& graph, const Node& node, std::int64_t rows) {
  double bytes = 0;
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const ValueId value : *values) {
      if (value != kNoValue) bytes += static_cast<double>(graph.spec(value).bytes_at(rows));
    }
  }
  return bytes;
}

/// By layer and op. A backend may merge nodes: ops that it renames have no entry here, and no figures in the table.
std::map<std::pair<std::string, std::string>, Work> work_of(const Graph& graph, std::int64_t rows) {
  std::map<std::pair<std::string, std::string>, Work> work;
  for (const Node& node : graph.nodes()) {
    Work& sum = work[{node.layer, std::string(node.op->name())}];
    sum.flops += flops_of(graph, node, rows);
    sum.bytes += bytes_of(graph, node, rows);
  }
  return work;
}

/// The replica's number in "replica 12"; nothing for a device.
std::optional<int> replica_of(std::string_view who) {
  constexpr std::string_view kReplica = "replica ";
  if (!who.starts_with(kReplica)) return std::nullopt;
  int number = 0;
  std::from_chars(who.data() + kReplica.size(), who.data() + who.size(), number);
  return number;
}

double total_ms(const std::vector<ProfileRow>& rows, const std::string& who) {
  double total = 0;
  for (const ProfileRow& row : rows) total += row.who == who ? row.ms() : 0;
  return total;
}

std::string rate(double amount, double ms) {
  return amount > 0 && ms > 0 ? fmt::format("{:.1f}", amount / ms / 1e6) : "";
}

std::string share_text(double part, double whole) { return fmt::format("{:.1f}%", whole > 0 ? 100 * part / whole : 0); }

/// The width of the longest name, at least a usual width, and at most what the numbers next to it leave; `width` 0: no
/// limit.
std::size_t name_columns_of(const std::vector<ProfileRow>& rows, std::size_t width, bool has_rates) {
  constexpr std::size_t kNumbers = 10 + 10 + 10 + 7, kRates = 9 + 6, kUsual = 28, kLeast = 8;
  std::size_t columns = kUsual;
  for (const ProfileRow& row : rows) columns = std::max(columns, display_width(row.name));
  if (width == 0) return columns;
  const std::size_t numbers = kNumbers + (has_rates ? kRates : 0);
  return std::min(columns, std::max(width - std::min(width, numbers), kLeast));
}

}  // namespace

std::vector<ProfileRow> profile_rows(const std::vector<ProfileEntry>& entries, const Model& model,
                                     const ProfiledSteps& steps, bool by_time) {
  std::vector<ProfileRow> rows;
  const auto row_of = [&](const std::string& who, const std::string& name) -> ProfileRow& {
    for (ProfileRow& row : rows) {
      if (row.who == who && row.name == name) return row;
    }
    return rows.emplace_back(ProfileRow{who, name});
  };
  std::map<int, std::map<std::pair<std::string, std::string>, Work>> work;  // by replica
  for (const ProfileEntry& entry : entries) {
    const auto replica = replica_of(entry.who);
    ProfileRow& row = row_of(entry.who, !replica ? entry.what : entry.layer.empty() ? "input" : entry.layer);
    const std::int64_t timed = replica ? steps.full_batches : steps.steps;
    const double ms = 1e3 * entry.seconds / static_cast<double>(std::max<std::int64_t>(1, timed));
    (entry.what.ends_with("gradient") ? row.backward_ms : row.forward_ms) += ms;
    if (!replica) continue;
    if (!work.contains(*replica)) {
      work[*replica] = work_of(model.training.graph, rows_of_replica(steps.batch, *replica, steps.replicas).count);
    }
    const auto found = work[*replica].find({entry.layer, entry.what});
    if (found == work[*replica].end()) continue;
    row.flops += found->second.flops;
    row.bytes += found->second.bytes;
    found->second = {};  // covers all nodes of this layer and op, which have an entry each
  }
  if (by_time) {
    for (auto first = rows.begin(); first != rows.end();) {
      const auto last = std::find_if(first, rows.end(), [&](const ProfileRow& row) { return row.who != first->who; });
      std::stable_sort(first, last, [](const ProfileRow& a, const ProfileRow& b) { return a.ms() > b.ms(); });
      first = last;
    }
  }
  return rows;
}

std::string profile_text(const std::vector<ProfileRow>& rows, const ProfiledSteps& steps, std::size_t width) {
  const bool has_rates = width == 0 || width >= 80;
  const std::size_t name_columns = name_columns_of(rows, width, has_rates);
  std::string text, who;
  for (const ProfileRow& row : rows) {
    const auto replica = replica_of(row.who);
    if (row.who != who) {
      who = row.who;
      const double total = total_ms(rows, who);
      if (replica) {
        text += fmt::format("\n{}: {} examples, {:.3f} ms a step\n{:<{}}{:>10}{:>10}{:>10}{:>7}", who,
                            rows_of_replica(steps.batch, *replica, steps.replicas).count, total, "layer", name_columns,
                            "forward", "backward", "ms", "share");
        text += has_rates ? fmt::format("{:>9}{:>6}\n", "GFLOP/s", "GB/s") : "\n";
      } else {
        text += fmt::format("\n{}: {:.3f} ms a step\n{:<{}}{:>10}{:>7}\n", who, total, "action", name_columns, "ms",
                            "share");
      }
    }
    const std::string name = padded(report::cut_off(row.name, name_columns), name_columns);
    const std::string share = share_text(row.ms(), total_ms(rows, who));
    if (!replica) {
      text += fmt::format("{}{:>10.3f}{:>7}\n", name, row.ms(), share);
      continue;
    }
    text += fmt::format("{}{:>10.3f}{:>10.3f}{:>10.3f}{:>7}", name, row.forward_ms, row.backward_ms, row.ms(), share);
    text += has_rates ? fmt::format("{:>9}{:>6}\n", rate(row.flops, row.ms()), rate(row.bytes, row.ms())) : "\n";
  }
  return text.empty() ? text : text.substr(1);
}

std::string profile_json(const std::vector<ProfileRow>& rows, const ProfiledSteps& steps) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ProfileRow& row : rows) {
    nlohmann::ordered_json json = {{"who", row.who},
                                   {"name", row.name},
                                   {"ms", row.ms()},
                                   {"share", row.ms() / std::max(1e-12, total_ms(rows, row.who))}};
    if (replica_of(row.who)) {
      json["forward_ms"] = row.forward_ms;
      json["backward_ms"] = row.backward_ms;
      json["flops"] = row.flops;
      json["bytes"] = row.bytes;
    }
    list.push_back(std::move(json));
  }
  return json_text(
      nlohmann::ordered_json{{"steps", steps.steps}, {"global_batch_size", steps.batch}, {"profile", list}}, 2);
}

}  // namespace mirrortrain
