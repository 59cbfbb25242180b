#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mirrortrain {

struct ServeOptions {
  std::string run;                     ///< a run's name or folder, or a checkpoint's
  std::vector<std::string> overrides;  ///< of its configuration
  std::string host = "127.0.0.1";
  int port = 8000;               ///< 0: any that is free
  std::optional<int> grpc_port;  ///< of the gRPC service, if there is one; 0: any that is free
  std::int64_t max_batch = 32;
  double max_delay_ms = 2;
  std::size_t max_body = std::size_t{64} << 20;
  std::optional<std::filesystem::path> token_file;  ///< a token in each line
  bool watch = false;                               ///< whether weights that change are read
};

/// Called with the server's address, "http://127.0.0.1:8000", and that of the gRPC service, "127.0.0.1:8001", if any.
using Announce = std::function<void(const std::string& address, const std::string& grpc)>;

/// Serves a trained run until `stop` is not 0; then answers all requests that had been sent whole, and returns. Calls
/// `ready` once requests are answered. Throws UsageError and Error for a run, weights, an address or a token file that
/// cannot be used.
void run_server(const ServeOptions& options, const std::atomic<int>& stop, const Announce& ready);

}  // namespace mirrortrain
