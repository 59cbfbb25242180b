#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mirrortrain::data {

/// A file in a folder of unpacked data, which `cache clean` leaves there for as long as this lives.
class UnpackedFile {
 public:
  /// `descriptor`: of the open file, with a shared lock; closed by this.
  UnpackedFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  UnpackedFile(const UnpackedFile&) = delete;
  UnpackedFile& operator=(const UnpackedFile&) = delete;
  ~UnpackedFile();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_;
};

/// A folder where data are unpacked that cannot be read at any place as they are: compressed files, and arrays in
/// another order. Each is there once, for all runs and workers that read it, under a name made of the identity of the
/// file that it is from, and appears there whole or not at all.
class UnpackedFiles {
 public:
  /// Which is made when it is needed.
  explicit UnpackedFiles(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }

  using Put = std::function<void(std::span<const std::byte>)>;
  /// Writes the file's bytes in order.
  using Write = std::function<void(const Put& put)>;

  /// How large a file is.
  struct Size {
    std::uint64_t bytes = 0;
    bool is_exact = true;  ///< else it has at least so many
  };

  /// The file of such a size that `write` writes, unless it is there already; `identity` says which. Waits while
  /// another run writes it. Throws Error, naming `origin`, if the folder cannot be written or has too little space,
  /// and the exceptions of `write`.
  std::shared_ptr<const UnpackedFile> find_or_write(const std::string& identity, const std::string& origin,
                                                    const Size& size, const Write& write) const;

  struct Entry {
    std::string path;
    std::uint64_t bytes = 0;
    bool is_in_use = false;
    bool is_whole = true;  ///< else left by a run that was killed while it unpacked
  };
  /// What is in the folder, by name. Throws Error if there is one that cannot be read; none where there is no folder.
  std::vector<Entry> entries() const;
  /// Removes all that no run uses. Returns what it removed.
  std::vector<Entry> clean() const;

 private:
  std::string folder_;
};

/// The folder of unpacked data where the configuration names none: the user's own in the system's temporary folder.
std::string default_cache_directory();

}  // namespace mirrortrain::data
