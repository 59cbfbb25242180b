#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace mirrortrain {

/// The tokens that requests may have.
class Tokens {
 public:
  /// None: everyone may ask.
  explicit Tokens(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}

  bool empty() const { return tokens_.empty(); }
  /// Whether a request may be answered. `authorization`: "Bearer TOKEN"; empty if it has none.
  bool accept(std::string_view authorization) const {
    if (tokens_.empty()) return true;
    constexpr std::string_view kScheme = "bearer ";
    if (in_lower_case(authorization.substr(0, kScheme.size())) != kScheme) return false;  // schemes have any case
    authorization.remove_prefix(kScheme.size());
    // All are compared, so that the time does not reveal which it was.
    return std::ranges::count_if(tokens_, [&](const std::string& one) { return is_same(authorization, one); }) > 0;
  }

  /// The error of a request without one. `where`: what it has to have the token in.
  static std::string expected(std::string_view where) {
    return fmt::format("expected a token of the server's --token-file in {}: Bearer TOKEN", where);
  }

 private:
  /// Takes as long for every text of the same length, so that nothing is learned of a token by trying.
  static bool is_same(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned different = 0;
    for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
    return different == 0;
  }

  std::vector<std::string> tokens_;
};

}  // namespace mirrortrain
