#include "cluster/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"
#include "base/utf8.h"

namespace mirrortrain {
namespace {

/// The host and port of a text, if present.
struct Parts {
  std::string_view host, port;
  bool bracketed = false, has_port = false;
};

Parts split(std::string_view text) {
  Parts parts;
  std::size_t colon = text.rfind(':');
  if (text.starts_with('[') && text.find(']') != std::string_view::npos) {
    const std::size_t end = text.find(']');
    parts.bracketed = true;
    parts.host = text.substr(1, end - 1);
    colon = end + 1 < text.size() && text[end + 1] == ':' ? end + 1 : std::string_view::npos;
    if (colon == std::string_view::npos && end + 1 < text.size()) parts.host = {};  // text after the closing bracket
  } else {
    parts.host = text.substr(0, colon);
  }
  parts.has_port = colon != std::string_view::npos;
  if (parts.has_port) parts.port = text.substr(colon + 1);
  return parts;
}

/// Letters, digits and other characters of names and numeric addresses; for IPv6 also ':' and, before a zone, '%'.
bool is_host(const Parts& parts) {
  const std::string_view more = parts.bracketed ? ".-_:%" : ".-_";
  return !parts.host.empty() && std::ranges::all_of(parts.host, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || more.find(c) != std::string_view::npos;
  });
}

bool parse_port(std::string_view text, long& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string address_error(std::string_view text) {
  const auto wrong = [&](const std::string& remedy) {
    return fmt::format("expected host:port, found \"{}\"; {}", shortened(text, 100), remedy);
  };
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    return wrong(fmt::format("leave out \"{}\"", text.substr(0, scheme + 3)));
  }
  const Parts parts = split(text);
  if (!parts.bracketed && std::ranges::count(text, ':') > 1) {
    return wrong("write an IPv6 address in brackets, as in [::1]:2222");
  }
  if (!is_host(parts)) {
    return wrong(parts.host.empty() ? "name the host, as in 10.0.0.2:2222"
                                    : "a host is made of letters, digits, '.', '-' and '_', without spaces");
  }
  if (!parts.has_port || parts.port.empty()) {
    return wrong(fmt::format("add the port that this task is to listen on, as in {0}{1}{2}:2222",
                             parts.bracketed ? "[" : "", parts.host, parts.bracketed ? "]" : ""));
  }
  long port = 0;
  if (!parse_port(parts.port, port)) return wrong("the port is a whole number from 1 to 65535");
  if (port == 0) return wrong("other tasks cannot know a port that the system chooses; give one from 1 to 65535");
  return port < 0 || port > 65535 ? wrong("ports end at 65535") : "";
}

Address Address::of(std::string_view text) {
  const std::string error = address_error(text);
  if (!error.empty()) throw UsageError(error);
  const Parts parts = split(text);
  long port = 0;
  parse_port(parts.port, port);
  return {std::string(parts.host), static_cast<int>(port)};
}

std::string Address::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

}  // namespace mirrortrain
