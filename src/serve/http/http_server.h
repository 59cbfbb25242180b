#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "serve/http/http_message.h"

namespace mirrortrain {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8000;                                ///< 0: any that is free
  std::size_t most_body = std::size_t{64} << 20;  ///< bytes of a request's body
  int threads = 2;                                ///< that receive, prepare and answer requests
  /// A connection without a whole request for so long is closed, whether it is silent or slow.
  std::chrono::seconds patience{60};
};

/// Why this program has no HTTP server; empty if it has one.
std::string why_no_http();

/// An HTTP/1.1 server (GNU libmicrohttpd): a few threads wait for all connections, so that thousands of them that are
/// slow or silent take no more than their sockets. What a client sends ends at most its own connection. When there are
/// almost as many connections as the system allows, the oldest that are waiting for a request are closed.
class HttpServer {
 public:
  /// Listens from now on; `service` must outlive the server. Throws Error if it cannot listen there.
  HttpServer(const HttpOptions& options, HttpService& service);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Every request must have been answered.
  ~HttpServer();

  int port() const;
  /// Stops accepting connections, and returns when all requests that had been sent whole are answered, or after
  /// `limit`. Responses from now on close their connections.
  void drain(std::chrono::seconds limit);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mirrortrain
