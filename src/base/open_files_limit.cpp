#include "base/open_files_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace mirrortrain {

std::uint64_t allow_open_files(std::uint64_t wanted) {
  constexpr std::uint64_t kAssumed = 1024;  // where the system does not say
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kAssumed;
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  rlimit raised = limit;
  raised.rlim_cur = std::min<rlim_t>(limit.rlim_max, wanted);
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

}  // namespace mirrortrain
