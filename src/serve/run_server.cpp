#include "serve/run_server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <sstream>
#include <thread>

#include "base/blanks.h"
#include "base/error.h"
#include "base/files.h"
#include "base/usable_cores.h"
#include "cluster/address.h"
#include "serve/grpc/grpc_server.h"
#include "serve/http/http_server.h"
#include "serve/http/tokens.h"
#include "serve/model/request_metrics.h"
#include "serve/model/served_model.h"
#include "serve/model_service.h"
#include "train/runs/run_weights.h"

namespace mirrortrain {
namespace {

/// Requests that had been sent whole when the server was asked to stop are answered within this time.
constexpr std::chrono::seconds kMostDraining{30};
/// Examples and outputs that are computed at once may take so many times the memory of the largest request.
constexpr std::size_t kMostExpansion = 16;

Tokens read_tokens(const std::optional<std::filesystem::path>& file) {
  if (!file) return Tokens({});
  std::vector<std::string> tokens;
  std::string text;
  try {
    text = read_text_file(*file);
  } catch (const Error& error) {
    throw Error(std::string("--token-file: ") + error.what());
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const std::string_view token = without_outer_blanks(line); !token.empty()) tokens.emplace_back(token);
  }
  if (tokens.empty()) {
    throw UsageError(fmt::format("--token-file {}: expected a token in each line, found none", file->string()));
  }
  return Tokens(std::move(tokens));
}

/// Without the brackets that an IPv6 address has in a URL.
std::string host_of(const std::string& given) {
  return given.starts_with('[') && given.ends_with(']') ? given.substr(1, given.size() - 2) : given;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "ip6-localhost" || host.starts_with("127.");
}

}  // namespace

void run_server(const ServeOptions& options, const std::atomic<int>& stop, const Announce& ready) {
  if (const std::string absent = why_no_http(); !absent.empty()) {
    throw UsageError("this program cannot serve: " + absent);
  }
  if (const std::string absent = why_no_grpc(); options.grpc_port && !absent.empty()) {
    throw UsageError("--grpc-port: " + absent);
  }
  if (options.grpc_port && *options.grpc_port != 0 && *options.grpc_port == options.port) {
    throw UsageError(fmt::format("--grpc-port {}: HTTP has this port; give another, or 0 for any", *options.grpc_port));
  }
  const Tokens tokens = read_tokens(options.token_file);
  RequestMetrics metrics;
  ServedModelOptions serving;
  serving.most_rows = options.max_batch;
  serving.most_delay = std::chrono::nanoseconds(static_cast<std::int64_t>(options.max_delay_ms * 1e6));
  serving.most_bytes = kMostExpansion * options.max_body;
  serving.watches = options.watch;
  serving.on_reload = [&metrics](bool succeeded) { metrics.add_reload(succeeded); };
  ServedModel model(open_trained_run(options.run, options.overrides), serving);
  ModelService service(model, metrics, tokens, options.max_body);
  HttpOptions http;
  http.host = host_of(options.host);
  http.port = options.port;
  http.most_body = options.max_body;
  http.threads = std::clamp(static_cast<int>(usable_cores().size()), 2, 8);
  HttpServer server(http, service);
  std::optional<GrpcServer> grpc;
  if (options.grpc_port)
    grpc.emplace(GrpcOptions{http.host, *options.grpc_port, options.max_body}, model, metrics, tokens);
  if (tokens.empty() && !is_loopback(http.host)) {
    spdlog::warn(
        "--host {}: whoever reaches this machine there may ask for predictions; give --token-file, or put a proxy in "
        "front that knows its clients",
        options.host);
  }
  const ForwardPass& forward = model.forward();
  spdlog::debug("batches of {} examples on {} replica{}{}", fmt::join(forward.batches(), ", "), forward.replicas(),
                forward.replicas() == 1 ? "" : "s",
                forward.places_matter() ? ", of one request each: the place in a batch changes last bits" : "");
  struct Stop {  // before the servers: none may end with requests that are not answered
    ServedModel& model;
    ~Stop() { model.stop(); }
  } stops_first{model};
  ready("http://" + Address{http.host, server.port()}.text(), grpc ? Address{http.host, grpc->port()}.text() : "");
  while (stop == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  service.set_draining();
  // Both at once. What is not computed by then is answered with an error, for which gRPC's calls wait.
  const auto end = std::chrono::steady_clock::now() + kMostDraining;
  std::future<void> of_grpc = std::async(std::launch::async, [&] {
    if (grpc) grpc->drain(kMostDraining);
  });
  server.drain(kMostDraining);
  if (of_grpc.wait_until(end) == std::future_status::timeout) model.stop();
  of_grpc.get();
}

}  // namespace mirrortrain
