#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "keras/hdf5/hdf5_handle.h"

namespace mirrortrain::keras {

/// A range of bytes that the library has asked for.
struct RecordedRead {
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
};

/// How a file is opened so that reads of elements can be recorded: HDF5 before 1.14 gives no list of a dataset's
/// chunks, but where it would read one from is where this one is.
Hdf5Handle recorded_access();

/// Records the last read of elements from a file of such access while this lives, in place of reading them. One at a
/// time.
class ReadRecorder {
 public:
  ReadRecorder();
  ReadRecorder(const ReadRecorder&) = delete;
  ReadRecorder& operator=(const ReadRecorder&) = delete;
  ~ReadRecorder();
  /// The last read since the last call; of no bytes where there was none.
  RecordedRead take() { return std::exchange(last_, {}); }

 private:
  RecordedRead last_;
};

}  // namespace mirrortrain::keras
