#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/bad_examples.h"
#include "data/files/unpacked_files.h"
#include "data/records/record_columns.h"
#include "data/records/row_files.h"
#include "data/records/tfrecord.h"

namespace mirrortrain::data {

/// The bytes that `read` would take at most. Reads compressed files, whose size is not known otherwise.
std::uint64_t most_bytes_of_records(const TfRecord& source);

/// The same examples as `read` gives; the numbers of records are read by position, but for labels of a few bytes. Each
/// record is read once, to check it and to find its place; compressed files are unpacked into `cache`. Throws as `read`
/// does.
Examples open_records(const TfRecord& source, BadExamples* bad, const UnpackedFiles& cache);

/// Where records lie in files. Of each record, 8 bytes.
class RecordPlaces {
 public:
  /// The records that are added next are in this file.
  void begin_file(const std::string& path, std::shared_ptr<const UnpackedFile> unpacked) {
    files_.begin(path, std::move(unpacked), rows());
  }
  /// `offset`: of the record's bytes.
  void add(std::uint64_t offset) { offsets_.push_back(offset); }
  /// Removes what was added after this many records.
  void cut(std::int64_t records) { offsets_.resize(static_cast<std::size_t>(records)); }

  std::int64_t rows() const { return std::ssize(offsets_); }
  /// In memory of the calling thread, valid until the next call. Thread-safe.
  Record read(std::int64_t row) const;
  /// Has the system fetch a record from the disk, while this thread goes on. Thread-safe.
  void will_read(std::int64_t row) const;
  std::string identity() const;

 private:
  RowFiles files_;
  std::vector<std::uint64_t> offsets_;
};

/// The numbers of columns side by side in each record, of a column alone in its type. `columns`: names and shapes.
Array array_by_position(const std::vector<const RecordColumn*>& columns, std::shared_ptr<const RecordPlaces> places,
                        const std::vector<Array::Part>& parts);

}  // namespace mirrortrain::data
