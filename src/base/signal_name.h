#pragma once

#include <cstring>
#include <string>

namespace mirrortrain {

/// "SIGTERM"; empty where the number is that of no signal.
inline std::string signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? "" : std::string("SIG") + name;
}

}  // namespace mirrortrain
