#include "base/files.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "error_text.h"
#include "small_disk.h"
#include "temporary_folder.h"

using namespace mirrortrain;
namespace fs = std::filesystem;

namespace {

std::size_t entries_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a written file reads back whole and leaves nothing beside it") {
  const TemporaryFolder folder;
  const std::string text = "first\n" + std::string(100'000, 'x') + std::string(1, '\0') + "last";
  write_file(folder / "a.txt", text);
  CHECK(read_text_file(folder / "a.txt") == text);
  CHECK(read_file(folder / "a.txt").size() == text.size());
  CHECK(entries_in(folder.path()) == 1);
  write_file(folder / "a.txt", "");
  CHECK(read_text_file(folder / "a.txt").empty());
}

TEST_CASE("a pipe is refused without waiting for who writes to it") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::string refused =
      "cannot read " + (folder / "pipe").string() + ": expected a file, found a pipe or a device";
  CHECK(error_text([&] { read_text_file(folder / "pipe"); }) == refused);
  CHECK(error_text([&] { InputFile(folder / "pipe"); }) == refused);
}

TEST_CASE("a file whose size the system does not know is read whole") {
  CHECK(read_text_file("/proc/self/status").find("Name:") == 0);
}

TEST_CASE("a temporary file is known by the process and number in its name") {
  for (const char* name : {"a/config.yaml.4711-1.tmp", "b.1-22.tmp"}) CHECK(is_temporary(name));
  for (const char* name : {"notes.tmp", ".tmp", "a.1-.tmp", "a.-1.tmp", "a.x-1.tmp", "1-2.tmp", "a.1-2"}) {
    CAPTURE(name);
    CHECK_FALSE(is_temporary(name));
  }
}

TEST_CASE("a file that is not committed leaves the old one and no temporary one") {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new, but");
  }
  CHECK(read_text_file(folder / "a") == "old");
  CHECK(entries_in(folder.path()) == 1);
}

TEST_CASE("a file has no name until it is whole, and replaces one that there is with its mode") {
  const TemporaryFolder folder;
  write_file(folder / "old", "old");
  fs::permissions(folder / "old", fs::perms::owner_read | fs::perms::owner_write);
  const fs::perms usual = [&] {
    write_file(folder / "usual", "");
    return fs::status(folder / "usual").permissions();
  }();
  for (const char* name : {"old", "new"}) {
    AtomicFile file(folder / name);
    file.write("new");
    CHECK(file.can_overwrite());
    CHECK(entries_in(folder.path()) == 2);
    file.commit();
    CHECK(read_text_file(folder / name) == "new");
  }
  CHECK(fs::status(folder / "old").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(fs::status(folder / "new").permissions() == usual);
  CHECK(entries_in(folder.path()) == 3);
}

TEST_CASE("a name that is as long as the file system allows is refused at once or written") {
  const TemporaryFolder folder;
  const std::string longest(255, 'a');
  CHECK(contains(error_text([&] { AtomicFile(folder / longest); }), "File name too long"));
  write_file(folder / longest.substr(0, 200), "content");
  CHECK(read_text_file(folder / longest.substr(0, 200)) == "content");
}

TEST_CASE("a writer that is killed leaves nothing of its file") {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder / "a");
    file.write("half of");
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(entries_in(folder.path()) == 0);
}

TEST_CASE("bytes that were written are replaced, and what is written next follows the end") {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a.txt");
  file.write("header? content");
  file.overwrite(0, std::as_bytes(std::span("HEADER!", 7)));
  file.write(", end");
  file.commit();
  CHECK(read_text_file(folder / "a.txt") == "HEADER! content, end");
  CHECK(contains(error_text([] {
                   AtomicFile full("/dev/full");
                   full.overwrite(0, std::as_bytes(std::span("x", 1)));
                 }),
                 "cannot write /dev/full: "));
}

TEST_CASE("a full disk is an error that names the file and keeps the old one") {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  std::string message;
  {
    const SmallDisk disk(4096);
    message = error_text([&] { write_file(folder / "a", std::string(10'000, 'x')); });
  }
  CHECK(message == "cannot write " + (folder / "a").string() + ": File too large");
  CHECK(read_text_file(folder / "a") == "old");
  CHECK(entries_in(folder.path()) == 1);
}

TEST_CASE("errors name path and reason") {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  const std::string base = folder.path().string();
  CHECK(error_text([&] { read_file(folder / "none"); }) == "cannot read " + base + "/none: No such file or directory");
  CHECK(error_text([&] { read_file(folder.path()); }) == "cannot read " + base + ": Is a directory");
  CHECK(error_text([&] { write_file(folder / "none/a", "x"); }) ==
        "cannot write " + base + "/none/a: No such file or directory");
  CHECK(error_text([&] { write_file(folder / "file/a", "x"); }) == "cannot write " + base + "/file/a: Not a directory");
  CHECK(error_text([&] { create_folders(folder / "file/a"); }) ==
        "cannot create the folder " + base + "/file: File exists");
  CHECK(error_text([&] { rename_durably(folder / "none", folder / "b"); }) ==
        "cannot rename " + base + "/none to " + base + "/b: No such file or directory");
  CHECK(error_text([&] { sync_folder(folder / "none"); }) ==
        "cannot open the folder " + base + "/none: No such file or directory");
}

TEST_CASE("a symbolic link stays, and what is not a regular file is written in place") {
  const TemporaryFolder folder;
  write_file(folder / "real", "old");
  fs::create_symlink("real", folder / "link");
  write_file(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_text_file(folder / "real") == "new");
  fs::create_symlink("later", folder / "dangling");
  write_file(folder / "dangling", "new");
  CHECK(fs::is_symlink(folder / "dangling"));
  CHECK(read_text_file(folder / "later") == "new");
  write_file("/dev/null", "gone");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(error_text([] { write_file("/dev/full", "x"); }) == "cannot write /dev/full: No space left on device");
}

TEST_CASE("a file that is written anew keeps its mode") {
  const TemporaryFolder folder;
  constexpr auto kOwnerAlone = fs::perms::owner_read | fs::perms::owner_write;
  write_file(folder / "a", "old");
  fs::permissions(folder / "a", kOwnerAlone);
  write_file(folder / "a", "new");
  CHECK(read_text_file(folder / "a") == "new");
  CHECK(fs::status(folder / "a").permissions() == kOwnerAlone);
}

TEST_CASE("an output file replaces, appends or refuses what is there") {
  using Mode = OutputFile::Mode;
  const TemporaryFolder folder;
  OutputFile(folder / "a", Mode::kNew).write("one");
  OutputFile(folder / "a", Mode::kAppend).write(" two");
  CHECK(read_text_file(folder / "a") == "one two");
  CHECK(contains(error_text([&] { OutputFile(folder / "a", Mode::kNew); }), "a: File exists"));
  OutputFile file(folder / "a", Mode::kReplace);
  file.write("three");
  CHECK(read_text_file(folder / "a") == "three");  // without waiting for the file's end
  file.sync_and_close();
}

TEST_CASE("what is appended to a file on a full disk is there whole or not at all") {
  const TemporaryFolder folder;
  OutputFile file(folder / "a", OutputFile::Mode::kAppend);
  file.write("one line\n");
  {
    const SmallDisk disk(12);
    CHECK(contains(error_text([&] { file.write("another line\n"); }), "File too large"));
  }
  CHECK(read_text_file(folder / "a") == "one line\n");
  file.write("and one\n");
  CHECK(read_text_file(folder / "a") == "one line\nand one\n");
}

TEST_CASE("files without a size of their own are read to their end" * doctest::skip(!fs::exists("/proc/self/status"))) {
  CHECK(contains(read_text_file("/proc/self/status"), "Threads:"));
}

TEST_CASE("folders are made with those above them, and renamed") {
  const TemporaryFolder folder;
  create_folders(folder / "a/b/c");
  create_folders(folder / "a/b/c");
  rename_durably(folder / "a/b", folder / "d");
  CHECK(fs::is_directory(folder / "d/c"));
}

TEST_CASE("crc32 is zlib's and continues over pieces") {
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  CHECK(crc32_of(bytes("123456789")) == 0xCBF43926u);
  CHECK(crc32_of(bytes("6789"), crc32_of(bytes("12345"))) == 0xCBF43926u);
  const TemporaryFolder folder;
  AtomicFile file(folder / "a");
  file.write("1234");
  file.write("56789");
  CHECK(file.crc32() == 0xCBF43926u);
}
