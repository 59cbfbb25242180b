#include "cluster/token.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/utf8.h"

namespace mirrortrain {

std::string token_of(const Environment& environment) {
  std::string token(without_outer_spaces(environment(kTokenVariable).value_or("")));
  require_token(token, kTokenVariable);
  return token;
}

void require_token(const std::string& token, const std::string& source) {
  const auto is_printable = [](char c) { return c >= 0x20 && c <= 0x7e; };
  if (std::ranges::all_of(token, is_printable)) return;
  throw UsageError(fmt::format("{}: expected one line of printable ASCII characters", source));
}

std::string new_token() {
  std::array<unsigned char, 32> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0) {
    throw Error(fmt::format("the system has no random numbers for a token: {}", std::strerror(errno)));
  }
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

}  // namespace mirrortrain
