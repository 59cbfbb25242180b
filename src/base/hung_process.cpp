#include "base/hung_process.h"

#include <cstdio>
#include <cstdlib>

namespace mirrortrain {

void end_hung_process(int exit_code) { std::_Exit(exit_code); }

void end_hung_process(const std::string& error) {
  std::fprintf(stderr, "error: %s\n", error.c_str());
  end_hung_process();
}

}  // namespace mirrortrain
