#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace mirrortrain::testing {

struct HttpAnswer {
  int status = 0;  ///< 0: the connection ended without one
  std::string head, body;

  /// A header's value; "" if there is none.
  std::string header(const std::string& name) const {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == head.npos) return "";
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

inline std::string get(const std::string& path, const std::string& headers = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: here\r\n" + headers + "\r\n";
}
inline std::string post(const std::string& path, const std::string& body, const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: here\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         headers + "\r\n" + body;
}

/// A connection to a server of this machine, byte by byte.
class HttpClient {
 public:
  explicit HttpClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  HttpClient(HttpClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)), text_(std::move(other.text_)) {}
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  HttpClient& operator=(HttpClient&&) = delete;
  ~HttpClient() {
    if (socket_ >= 0) ::close(socket_);
  }

  /// Sends as much as the server takes.
  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  HttpAnswer ask(std::string_view request) {
    send(request);
    return answer();
  }
  /// The next answer.
  HttpAnswer answer() {
    HttpAnswer found;
    std::size_t end = 0;
    while ((end = text_.find("\r\n\r\n")) == text_.npos) {
      if (!receive()) return found;
    }
    found.head = text_.substr(0, end + 2);
    text_.erase(0, end + 4);
    const auto length = static_cast<std::size_t>(std::atoll(found.header("Content-Length").c_str()));
    while (text_.size() < length) {
      if (!receive()) return found;
    }
    found.body = text_.substr(0, length);
    text_.erase(0, length);
    found.status = std::atoi(found.head.substr(9, 3).c_str());
    return found;
  }
  /// Whether the server ends the connection within so many milliseconds.
  bool ends_within(int milliseconds) {
    pollfd one{socket_, POLLIN, 0};
    while (::poll(&one, 1, milliseconds) > 0) {
      if (!receive()) return true;
    }
    return false;
  }

 private:
  bool receive() {
    pollfd one{socket_, POLLIN, 0};
    if (::poll(&one, 1, 20000) <= 0) return false;
    char block[65536];
    const ssize_t count = ::recv(socket_, block, sizeof block, 0);
    if (count <= 0) return false;
    text_.append(block, static_cast<std::size_t>(count));
    return true;
  }

  int socket_;
  std::string text_;  ///< received and not used yet
};

}  // namespace mirrortrain::testing
