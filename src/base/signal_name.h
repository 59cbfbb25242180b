#pragma once

#include <cstring>
#include <string>

namespace mirrortrain {

/// "SIGTERM"; empty if the number is not a signal's.
inline std::string signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? "" : std::string("SIG") + name;
}

}  // namespace mirrortrain
