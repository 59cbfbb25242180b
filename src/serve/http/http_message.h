#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirrortrain {

/// A request of HTTP; its names of headers are in lower case.
struct HttpRequest {
  std::string method;  ///< "GET", "POST", ...
  std::string path;    ///< decoded, without what follows a question mark
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};

  /// A header's value; null if it was not sent. `name`: in lower case.
  const std::string* header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return &value;
    }
    return nullptr;
  }
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// Answers a request: called once, by any thread, with what makes the response, which a thread of the server calls.
using HttpReply = std::function<void(std::function<HttpResponse()>)>;

/// What an HttpServer serves. All functions are called by several threads at once, and do not throw.
class HttpService {
 public:
  virtual ~HttpService() = default;
  /// Whether a request is refused before its body is received; `response` is the answer if so.
  virtual bool refuses(const HttpRequest& head, HttpResponse& response) = 0;
  /// A whole request, which is answered through `reply`, now or later.
  virtual void handle(HttpRequest request, HttpReply reply) = 0;
  /// The answer to a request that the server itself refuses with a status: its body is too large, there is no memory
  /// for it now, or its head says two things of its body.
  virtual HttpResponse refusal(int status, const std::string& why) = 0;
};

}  // namespace mirrortrain
