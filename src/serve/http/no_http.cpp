#include "base/error.h"
#include "serve/http/http_server.h"

namespace mirrortrain {

class HttpServer::Impl {};

std::string why_no_http() { return "it was built without GNU libmicrohttpd (libmicrohttpd-dev)"; }

HttpServer::HttpServer(const HttpOptions&, HttpService&) {
  throw UsageError("this program cannot serve: " + why_no_http());
}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return 0; }
void HttpServer::drain(std::chrono::seconds) {}

}  // namespace mirrortrain
