// A file driver of the HDF5 library (H5FD), which reads, or records what was to be read.
#include "keras/hdf5/hdf5_read_recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#if !H5_VERSION_GE(1, 14, 0)  // which gives a list of chunks, and declares drivers elsewhere

namespace mirrortrain::keras {
namespace {

RecordedRead* recorded = nullptr;  ///< where reads of elements are recorded, if they are

struct OpenFile {
  H5FD_t common{};  ///< the library's own part, which is first
  int descriptor = -1;
  haddr_t end = 0, allocated_end = 0;
};

OpenFile& own(H5FD_t* file) { return *reinterpret_cast<OpenFile*>(file); }
const OpenFile& own(const H5FD_t* file) { return *reinterpret_cast<const OpenFile*>(file); }

H5FD_t* open_file(const char* name, unsigned flags, hid_t, haddr_t) {
  if ((flags & H5F_ACC_RDWR) != 0) return nullptr;
  const int descriptor = ::open(name, O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return nullptr;  // in a process that ends then
  auto* const file = new OpenFile;
  file->descriptor = descriptor;
  file->end = static_cast<haddr_t>(status.st_size);
  return &file->common;
}

herr_t close_file(H5FD_t* file) {
  ::close(own(file).descriptor);
  delete &own(file);
  return 0;
}

haddr_t allocated_end(const H5FD_t* file, H5FD_mem_t) { return own(file).allocated_end; }

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  own(file).allocated_end = end;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) { return own(file).end; }

herr_t read_file(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t offset, std::size_t size, void* to) {
  if (recorded != nullptr && type == H5FD_MEM_DRAW) {
    *recorded = {offset, size};
    return 0;
  }
  for (auto* at = static_cast<char*>(to); size > 0;) {
    const ssize_t count = ::pread(own(file).descriptor, at, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return -1;
    at += count;
    offset += static_cast<haddr_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return 0;
}

herr_t refuse_to_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) { return -1; }

H5FD_class_t driver() {
  H5FD_class_t driver{};
  driver.name = "mirrortrain";
  driver.maxaddr = HADDR_MAX;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.open = open_file;
  driver.close = close_file;
  driver.get_eoa = allocated_end;
  driver.set_eoa = set_allocated_end;
  driver.get_eof = end_of_file;
  driver.read = read_file;
  driver.write = refuse_to_write;
  return driver;
}

}  // namespace

Hdf5Handle recorded_access() {
  static const H5FD_class_t kDriver = driver();
  static const hid_t kRegistered = H5FDregister(&kDriver);
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (!access || H5Pset_driver(access.get(), kRegistered, nullptr) < 0) return {-1, H5Pclose};
  return access;
}

ReadRecorder::ReadRecorder() { recorded = &last_; }

ReadRecorder::~ReadRecorder() { recorded = nullptr; }

}  // namespace mirrortrain::keras

#endif
