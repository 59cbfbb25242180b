#include "data/files/zip.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

std::string text_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

/// A file in an archive. libzip verifies its checksum and its size where it ends.
class ZippedInput : public Input {
 public:
  ZippedInput(std::string name, zip_file_t* file, std::uint64_t most_bytes)
      : Input(std::move(name)), file_(file), most_bytes_(most_bytes) {}

  std::size_t read(std::span<std::byte> to) override {
    std::size_t done = 0;
    while (done < to.size()) {
      const zip_int64_t count = zip_fread(file_.get(), to.data() + done, to.size() - done);
      if (count < 0) fail();
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return done;
  }
  std::uint64_t most_bytes() const override { return most_bytes_; }

 private:
  [[noreturn]] void fail() const {
    zip_error_t* const error = zip_file_get_error(file_.get());
    const bool is_checksum = zip_error_code_zip(error) == ZIP_ER_CRC;
    throw Error(fmt::format("{}: damaged: {}; get the file again", name(),
                            is_checksum ? "its checksum does not fit" : zip_error_strerror(error)));
  }

  struct Close {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
  };
  std::unique_ptr<zip_file_t, Close> file_;
  std::uint64_t most_bytes_;
};

}  // namespace

void Zip::Close::operator()(::zip* archive) const { zip_discard(archive); }

Zip::Zip(const std::string& path) : path_(path) {
  bytes_ = PlainFile(path).size();  // which refuses what is no regular file
  int code = ZIP_ER_NOZIP;
  // For libzip, an empty file is an archive without files.
  if (bytes_ > 0) archive_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive_ == nullptr && code == ZIP_ER_NOZIP) {
    fail("expected a zip archive, found no directory at its end; it is truncated or of another format");
  }
#ifdef ZIP_ER_TRUNCATED_ZIP  // from libzip 1.11 on, for both
  if (archive_ == nullptr && code == ZIP_ER_TRUNCATED_ZIP) {
    fail("expected a zip archive, found one that is truncated, or its directory is damaged; get the file again");
  }
#endif
  if (archive_ == nullptr) fail(fmt::format("its directory is damaged ({}); get the file again", text_of(code)));
  const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* const name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
    names_.emplace_back(name != nullptr ? name : "");
  }
}

std::unique_ptr<Input> Zip::open(const std::string& name, std::string label) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) fail(fmt::format("it holds no '{}'", name));
  if (std::find(found + 1, names_.end(), name) != names_.end()) {
    fail(fmt::format("it holds '{}' more than once; write the archive anew", name));
  }
  const auto index = static_cast<zip_uint64_t>(found - names_.begin());
  zip_stat_t entry;
  if (zip_stat_index(archive_.get(), index, 0, &entry) != 0) fail(zip_strerror(archive_.get()));
  if (entry.encryption_method != ZIP_EM_NONE) {
    fail(fmt::format("'{}' is encrypted; save it without a password", name));
  }
  if (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE) {
    fail(fmt::format("'{}' is compressed by method {}; save it with numpy.savez or savez_compressed", name,
                     entry.comp_method));
  }
  if (entry.comp_size > bytes_) fail("it is truncated; get the file again");
  zip_file_t* const file = zip_fopen_index(archive_.get(), index, 0);
  if (file == nullptr) {
    fail(fmt::format("'{}' is damaged: {}; get the file again", name, zip_strerror(archive_.get())));
  }
  const bool is_stored = entry.comp_method == ZIP_CM_STORE;
  const std::uint64_t most = std::min(entry.size, is_stored ? entry.comp_size : most_inflated(entry.comp_size));
  return std::make_unique<ZippedInput>(std::move(label), file, most);
}

void Zip::fail(const std::string& reason) const { throw Error(fmt::format("{}: {}", path_, reason)); }

}  // namespace mirrortrain::data
