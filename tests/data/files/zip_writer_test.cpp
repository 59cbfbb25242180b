#include "data/files/zip_writer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "data/files.h"
#include "data/files/zip.h"

namespace mirrortrain::data {
namespace {

/// The names of what is in a folder, in order.
std::vector<std::string> entries_of(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

TEST_CASE("files written side by side are read back from the archive") {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.npz");
  const std::string first(300'000, 'x'), second(70'000, 'y');
  ZipWriter writer(path);
  const std::size_t a = writer.add("first.npy"), b = writer.add("größe.npy"), empty = writer.add("empty.npy");
  for (std::size_t i = 0; i < 100; ++i) {
    writer.write(a, std::string_view(first).substr(i * 3000, 3000));
    writer.write(b, std::string_view(second).substr(i * 700, 700));
  }
  writer.write(empty, "");
  CHECK_FALSE(std::filesystem::exists(path));
  writer.finish();
  CHECK(entries_of(folder) == std::vector<std::string>{"a.npz"});

  const Zip archive(path);
  CHECK(archive.names() == std::vector<std::string>{"first.npy", "größe.npy", "empty.npy"});
  CHECK(read_text(*archive.open("first.npy", "first")) == first);
  CHECK(read_text(*archive.open("größe.npy", "second")) == second);
  CHECK(read_text(*archive.open("empty.npy", "empty")).empty());
  CHECK(std::filesystem::file_size(path) > first.size() + second.size());  // stored as they are
}

TEST_CASE("the same files give the same bytes, in place of the file that was there") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name) {
    ZipWriter writer(folder.path(name));
    writer.write(writer.add("x.npy"), "content");
    writer.finish();
    return read_text_file(folder.path(name));
  };
  folder.write("b.npz", "what was there");
  CHECK(write("a.npz") == write("b.npz"));
  // The first date that the format knows, and no seconds.
  CHECK(read_text_file(folder.path("a.npz")).substr(10, 4) == std::string("\0\0\x21\0", 4));
}

TEST_CASE("an archive that is not finished leaves nothing behind") {
  const TemporaryFolder folder;
  folder.write("a.npz", "what was there");
  {
    ZipWriter writer(folder.path("a.npz"));
    writer.write(writer.add("x.npy"), std::string(1'000'000, 'x'));
  }
  CHECK(entries_of(folder) == std::vector<std::string>{"a.npz"});
  CHECK(read_text_file(folder.path("a.npz")) == "what was there");
}

TEST_CASE("an archive that cannot be written is an error that names it") {
  const TemporaryFolder folder;
  const std::string path = folder.path("none/a.npz");
  CHECK(contains(error_text([&] { ZipWriter writer(path); }), "cannot write " + path + ": No such file or directory"));
}

}  // namespace
}  // namespace mirrortrain::data
