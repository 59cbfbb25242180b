#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "error_text.h"
#include "temporary_folder.h"

namespace mirrortrain::data {

/// A folder of its own for one test's files, removed at the end.
class TemporaryFolder {
 public:
  std::string path(std::string_view name) const { return (folder_ / std::string(name)).string(); }
  /// Writes a file; returns its path.
  std::string write(std::string_view name, std::string_view content) const;

 private:
  mirrortrain::TemporaryFolder folder_;
};

// The bytes of files, made by hand so that they can be wrong.
std::string big_endian(std::uint32_t number);
std::string little_endian(std::uint64_t number, int bytes);
std::string idx(int type, const std::vector<std::uint32_t>& extents, std::string_view elements);
std::string npy(std::string_view descr, bool fortran_order, std::string_view shape, std::string_view elements);
std::string gzip(std::string_view content);

struct ZipFile {
  std::string name, content;
  bool deflated = false, zip64 = false;
};
std::string zip(const std::vector<ZipFile>& files);

/// The bytes of numbers as this machine has them.
template <class T>
std::string bytes_of(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

}  // namespace mirrortrain::data
