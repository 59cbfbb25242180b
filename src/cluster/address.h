#pragma once

#include <string>
#include <string_view>

namespace mirrortrain {

/// Where a task listens: "node1:2222", "10.0.0.2:2222", "[fe80::1]:2222".
struct Address {
  std::string host;  ///< without the brackets of IPv6
  int port = 0;      ///< 1 to 65535

  /// Throws UsageError with address_error's text.
  static Address of(std::string_view text);
  /// "host:port", IPv6 in brackets.
  std::string text() const;
};

/// The error of a task's address, with the remedy: "expected host:port, found "10.0.0.2"; add the port that this task
/// is to listen on, as in 10.0.0.2:2222". Empty if it is valid.
std::string address_error(std::string_view text);

}  // namespace mirrortrain
