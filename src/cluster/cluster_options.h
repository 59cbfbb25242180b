#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/address.h"
#include "cluster/cluster_spec.h"
#include "config/section.h"

namespace mirrortrain {

/// Certificates of the connections between the tasks: PEM files.
struct TlsOptions {
  config::Path certificate, key, authority;
  static config::Section<TlsOptions> section();
};

/// Which task of the cluster this process is.
struct TaskOptions {
  Job type = Job::kWorker;
  std::int64_t index = 0;
  static config::Section<TaskOptions> section();
};

/// The section `strategy.cluster`. The launcher may specify the tasks and their addresses instead (TF_CONFIG, MPI,
/// SLURM, torchrun); the security of connections is only configured here.
struct ClusterOptions {
  std::optional<Address> chief, evaluator;
  std::vector<Address> workers, ps;
  std::optional<TaskOptions> task;
  std::optional<config::Path> token_file;
  std::optional<TlsOptions> tls;
  static config::Section<ClusterOptions> section();

  /// The tasks listed here, and this process's, by default worker 0; nullopt if none is listed.
  std::optional<ClusterSpec> tasks() const;
};

}  // namespace mirrortrain

/// Written "host:port".
template <>
struct mirrortrain::config::Codec<mirrortrain::Address> {
  static bool accepts(const Value& value);
  static void read(const Node& node, mirrortrain::Address& address);
  static Value show(const mirrortrain::Address& address);
  static Schema schema(const Rules& rules);
};

template <>
struct mirrortrain::config::EnumNames<mirrortrain::Job> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::Job>>({
      {"chief", mirrortrain::Job::kChief},
      {"worker", mirrortrain::Job::kWorker},
      {"ps", mirrortrain::Job::kPs},
      {"evaluator", mirrortrain::Job::kEvaluator},
  });
};
