// main() of all tests but those with one of their own.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <sys/statvfs.h>

#include <cstdlib>

namespace {

/// The program waits for the disk to have each of its files, thousands of times in these tests, whose folders live for
/// a second. They are in memory where there is enough, unless TMPDIR says where.
void keep_folders_in_memory() {
  constexpr const char* kMemory = "/dev/shm";
  constexpr std::uint64_t kEnough = std::uint64_t{2} << 30;
  struct statvfs found {};
  if (::statvfs(kMemory, &found) != 0) return;
  const bool runs_programs = (found.f_flag & ST_NOEXEC) == 0;  // some tests write scripts
  if (runs_programs && found.f_bavail * found.f_frsize >= kEnough) ::setenv("TMPDIR", kMemory, 0);
}

}  // namespace

int main(int argc, char** argv) {
  keep_folders_in_memory();
  return doctest::Context(argc, argv).run();
}
