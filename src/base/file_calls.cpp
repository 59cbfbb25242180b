#include "base/file_calls.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "base/files.h"

namespace mirrortrain {

namespace fs = std::filesystem;

void fail_with(std::string_view what, const fs::path& path, int reason) {
  throw SystemError(fmt::format("cannot {} {}: {}", what, path.string(), std::generic_category().message(reason)),
                    reason);
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

int open_unnamed(const fs::path& folder, int access) {
#ifdef O_TMPFILE
  return ::open(folder.c_str(), O_TMPFILE | access | O_CLOEXEC, 0666);
#else
  errno = EOPNOTSUPP;
  return -1;
#endif
}

void rename_to(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_with(fmt::format("rename {} to", from.string()), to, error.value());
}

}  // namespace mirrortrain
