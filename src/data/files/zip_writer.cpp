#include "data/files/zip_writer.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <span>
#include <system_error>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

namespace fs = std::filesystem;

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

/// What libzip writes an archive to: an AtomicFile, through the callback below.
class Target {
 public:
  /// `name`: of the archive, for errors.
  Target(AtomicFile& file, std::string name) : file_(file), name_(std::move(name)) { zip_error_init(&error_); }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() { zip_error_fini(&error_); }

  /// An empty archive, which must not outlive this.
  Archive open() {
    zip_source_t* const source = zip_source_function_create(&Target::callback, this, &error_);
    if (source == nullptr) fail(&error_);
    Archive archive(zip_open_from_source(source, ZIP_TRUNCATE, &error_));
    if (archive != nullptr) return archive;
    zip_source_free(source);
    fail(&error_);
  }

  /// Throws what went wrong in writing, or else libzip's error.
  [[noreturn]] void fail(zip_error_t* error) const {
    if (failure_) std::rethrow_exception(failure_);
    throw Error(fmt::format("cannot write {}: {}", name_, zip_error_strerror(error)));
  }

 private:
  static zip_int64_t callback(void* target, void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
    return static_cast<Target*>(target)->run(data, bytes, command);
  }

  zip_int64_t run(void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
      case ZIP_SOURCE_ERROR: return zip_error_to_data(&error_, data, bytes);
      case ZIP_SOURCE_STAT: {  // before it is written: an empty archive
        auto* const status = static_cast<zip_stat_t*>(data);
        zip_stat_init(status);
        status->valid = ZIP_STAT_SIZE;
        status->size = 0;
        return sizeof(*status);
      }
      case ZIP_SOURCE_WRITE: return write({static_cast<const std::byte*>(data), bytes});
      case ZIP_SOURCE_TELL_WRITE: return static_cast<zip_int64_t>(position_);
      case ZIP_SOURCE_SEEK_WRITE: {
        const zip_int64_t to = zip_source_seek_compute_offset(position_, size_, data, bytes, &error_);
        if (to < 0) return -1;
        position_ = static_cast<std::uint64_t>(to);
        return 0;
      }
      case ZIP_SOURCE_OPEN:
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE:
      case ZIP_SOURCE_BEGIN_WRITE:
      case ZIP_SOURCE_COMMIT_WRITE:
      case ZIP_SOURCE_ROLLBACK_WRITE:
      case ZIP_SOURCE_REMOVE: return 0;
      default: break;
    }
    zip_error_set(&error_, ZIP_ER_OPNOTSUPP, 0);
    return -1;
  }

  /// A file's header is written again once its checksum is known, everything else in order.
  zip_int64_t write(std::span<const std::byte> bytes) {
    try {
      position_ == size_ ? file_.write(bytes) : file_.overwrite(position_, bytes);
    } catch (...) {  // which must not pass through libzip
      failure_ = std::current_exception();
      zip_error_set(&error_, ZIP_ER_WRITE, EIO);
      return -1;
    }
    position_ += bytes.size();
    size_ = std::max(size_, position_);
    return static_cast<zip_int64_t>(bytes.size());
  }

  AtomicFile& file_;
  std::string name_;
  zip_error_t error_{};
  std::uint64_t position_ = 0, size_ = 0;
  std::exception_ptr failure_;
};

/// Adds a file with the content of `from`, which the archive closes; returns false if it cannot.
bool add_file(zip_t* archive, const std::string& name, std::FILE* from) {
  zip_source_t* const content = zip_source_filep(archive, from, 0, 0);
  if (content == nullptr) {
    std::fclose(from);
    return false;
  }
  const zip_int64_t added = zip_file_add(archive, name.c_str(), content, ZIP_FL_ENC_UTF_8);
  if (added < 0) {
    zip_source_free(content);
    return false;
  }
  const auto index = static_cast<zip_uint64_t>(added);
  constexpr zip_uint16_t kFirstDate = 1 << 5 | 1;  // the format's first day, 1980-01-01
  constexpr zip_uint32_t kMode = (S_IFREG | 0644u) << 16;
  return zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) == 0 &&
         zip_file_set_dostime(archive, index, 0, kFirstDate, 0) == 0 &&
         zip_file_set_external_attributes(archive, index, 0, ZIP_OPSYS_UNIX, kMode) == 0;
}

}  // namespace

ZipWriter::ZipWriter(const fs::path& path) : path_(path), file_(path) {}

std::size_t ZipWriter::add(std::string name) {
  members_.push_back({std::move(name), {}});
  const fs::path target = resolve_symlinks(path_);
  members_.back().content.reset(unnamed_file(target.has_parent_path() ? target.parent_path() : fs::path(".")));
  if (members_.back().content == nullptr) fail(errno);
  return members_.size() - 1;
}

void ZipWriter::write(std::size_t file, std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), members_[file].content.get()) != bytes.size()) fail(errno);
}

void ZipWriter::overwrite_beginning(std::size_t file, std::string_view bytes) {
  std::FILE* const content = members_[file].content.get();
  if (std::fseek(content, 0, SEEK_SET) != 0) fail(errno);
  write(file, bytes);
  if (std::fseek(content, 0, SEEK_END) != 0) fail(errno);
}

void ZipWriter::finish() {
  Target target(file_, path_.string());
  Archive archive = target.open();
  for (Member& member : members_) {
    // Which also writes what is in its buffer.
    if (std::fseek(member.content.get(), 0, SEEK_SET) != 0) fail(errno);
    const bool added = add_file(archive.get(), member.name, member.content.release());
    if (!added) target.fail(zip_get_error(archive.get()));
  }
  if (zip_close(archive.get()) != 0) target.fail(zip_get_error(archive.get()));
  static_cast<void>(archive.release());  // closed
  file_.commit();
}

void ZipWriter::fail(int reason) const {
  throw SystemError(fmt::format("cannot write {}: {}", path_.string(), std::generic_category().message(reason)),
                    reason);
}

}  // namespace mirrortrain::data
