#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "serve/http/tokens.h"
#include "serve/model/request_metrics.h"
#include "serve/model/served_model.h"

namespace mirrortrain {

struct GrpcOptions {
  std::string host;
  int port = 0;               ///< 0: any that is free
  std::size_t most_body = 0;  ///< bytes of a message
};

/// Why this program has no gRPC server; empty if it has one.
std::string why_no_grpc();

/// A model over gRPC: the Open Inference Protocol's GRPCInferenceService.
class GrpcServer {
 public:
  /// Listens from now on; all must outlive the server. Throws Error if it cannot listen there.
  GrpcServer(const GrpcOptions& options, ServedModel& model, RequestMetrics& metrics, const Tokens& tokens);
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  ~GrpcServer();

  int port() const;
  /// Accepts no more calls, and returns when all that were accepted are answered, or after `limit`.
  void drain(std::chrono::seconds limit);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mirrortrain
