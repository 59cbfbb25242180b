#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/files/input.h"

struct zip;  // libzip's archive

namespace mirrortrain::data {

/// A zip archive, including zip64; stored and deflated files can be read.
class Zip {
 public:
  /// Throws Error if it is damaged or not a zip archive.
  explicit Zip(const std::string& path);

  const std::vector<std::string>& names() const { return names_; }

  /// Opens a file in the archive, verifying its checksum at the end, with the name `label`. Must not outlive this.
  /// Throws Error if there is no file of that name, or more than one.
  std::unique_ptr<Input> open(const std::string& name, std::string label) const;

 private:
  struct Close {
    void operator()(::zip* archive) const;
  };
  [[noreturn]] void fail(const std::string& reason) const;

  std::string path_;
  std::uint64_t bytes_ = 0;  ///< of the whole archive
  std::unique_ptr<::zip, Close> archive_;
  std::vector<std::string> names_;
};

}  // namespace mirrortrain::data
