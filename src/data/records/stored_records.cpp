#include "data/records/stored_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/files/input.h"

namespace mirrortrain::data {
namespace {

/// The length of a record and its checksum, before its bytes.
constexpr std::uint64_t kHeader = sizeof(std::uint64_t) + 4;

class RecordRows : public StoredRows {
 public:
  RecordRows(const std::vector<const RecordColumn*>& columns, std::shared_ptr<const RecordPlaces> places)
      : places_(std::move(places)) {
    for (const RecordColumn* const column : columns) columns_.push_back(column->of_no_records());
    for (const RecordColumn& column : columns_) {
      names_ += fmt::format(" {} {} {}", column.name(), name_of(column.dtype()), column.shape().text());
      elements_ += static_cast<std::size_t>(column.shape().elements());
    }
    row_bytes_ = elements_ * (columns_.size() == 1 ? size_of(columns_.front().dtype()) : sizeof(float));
  }

  std::int64_t rows() const override { return places_->rows(); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    Columns columns = take_columns();
    for (std::int64_t row = first; row < first + count; ++row, to += row_bytes_) {
      const Record record = places_->read(row);
      if (columns.size() == 1) {
        columns.front().read_row(record, to);
      } else {
        read_side_by_side(columns, record, to);
      }
    }
    const std::lock_guard lock(mutex_);
    unused_.push_back(std::move(columns));
  }
  void will_read(std::int64_t first, std::int64_t count) const override {
    for (std::int64_t row = first; row < first + count; ++row) places_->will_read(row);
  }
  std::string identity() const override { return places_->identity() + names_; }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  using Columns = std::vector<RecordColumn>;

  Columns take_columns() const {
    const std::lock_guard lock(mutex_);
    Columns columns;
    if (!unused_.empty()) {
      columns = std::move(unused_.back());
      unused_.pop_back();
    } else {
      for (const RecordColumn& column : columns_) columns.push_back(column.of_no_records());
    }
    return columns;
  }

  static void read_side_by_side(Columns& columns, Record record, std::byte* to) {
    thread_local std::vector<std::byte> numbers;
    for (RecordColumn& column : columns) {
      const auto count = static_cast<std::size_t>(column.shape().elements());
      numbers.resize(count * size_of(column.dtype()));
      column.read_row(record, numbers.data());
      with_element_type(column.dtype(), [&](auto* type) {
        using T = std::remove_pointer_t<decltype(type)>;
        for (std::size_t i = 0; i < count; ++i, to += sizeof(float)) {
          T value;
          std::memcpy(&value, numbers.data() + i * sizeof(T), sizeof(T));
          const auto number = static_cast<float>(value);
          std::memcpy(to, &number, sizeof(float));
        }
      });
    }
  }

  std::shared_ptr<const RecordPlaces> places_;
  Columns columns_;
  std::string names_;
  std::size_t elements_ = 0, row_bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<Columns> unused_;  ///< which reading threads write their rows into
};

}  // namespace

Record RecordPlaces::read(std::int64_t row) const {
  const PositionedFile& file = *files_.of(row).bytes;
  const std::uint64_t offset = offsets_[static_cast<std::size_t>(row)];
  // With the header, and the whole of a short record.
  constexpr std::uint64_t kAtOnce = 4096;
  thread_local std::vector<std::byte> bytes;
  const auto require = [&](bool holds) {
    if (holds) return;
    throw Error(fmt::format("{}: this data file was changed, while the run reads it; restore it, and resume the run",
                            files_.of(row).path));
  };
  require(offset <= file.size());
  const auto got = static_cast<std::size_t>(std::min(kAtOnce, file.size() - (offset - kHeader)));
  bytes.resize(std::max(bytes.size(), got));
  file.read(offset - kHeader, std::span(bytes).first(got));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  require(length <= file.size() - offset);
  const auto whole = static_cast<std::size_t>(kHeader + length);
  if (whole > got) {
    bytes.resize(std::max(bytes.size(), whole));
    file.read(offset - kHeader + got, std::span(bytes).subspan(got, whole - got));
  }
  return Record(bytes).subspan(kHeader, static_cast<std::size_t>(length));
}

void RecordPlaces::will_read(std::int64_t row) const {
  const PositionedFile& file = *files_.of(row).bytes;
  const std::uint64_t offset = offsets_[static_cast<std::size_t>(row)];
  // Without the length, which is in the file: up to the next record, before which others may be left out.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 22;
  const bool is_last = row + 1 == rows() || !files_.has_next_in_file(row);
  const std::uint64_t end = is_last ? file.size() : offsets_[static_cast<std::size_t>(row) + 1];
  file.will_read(offset - kHeader, std::min(end - offset, kMost));
}

std::string RecordPlaces::identity() const {
  return fmt::format("{} {} {:08x}", files_.identity(), rows(), crc32_of(std::as_bytes(std::span(offsets_))));
}

Array array_by_position(const std::vector<const RecordColumn*>& columns, std::shared_ptr<const RecordPlaces> places,
                        const std::vector<Array::Part>& parts) {
  Array array;
  std::int64_t width = 0;
  for (const RecordColumn* const column : columns) width += column->shape().elements();
  array.dtype = columns.size() == 1 ? columns.front()->dtype() : DType::kFloat32;
  array.shape = (columns.size() == 1 ? columns.front()->shape() : Shape{width}).with_rows(places->rows());
  array.origin = parts.front().origin;
  if (parts.size() > 1) array.parts = parts;
  array.stored = std::make_shared<RecordRows>(columns, std::move(places));
  return array;
}

std::uint64_t most_bytes_of_records(const TfRecord& source) {
  constexpr std::uint64_t kMostOfByte = 8;  // an int64 of a small number
  std::vector<std::string> remarks;
  std::uint64_t bytes = 0;
  for (const std::string& path : expanded(source.files, remarks)) {
    const std::unique_ptr<Input> input = open_input(path);
    if (!input->is_compressed()) {
      bytes += input->most_bytes();
      continue;
    }
    std::vector<std::byte> block(std::size_t{1} << 20);
    while (const std::size_t count = input->read(block)) bytes += count;
  }
  return bytes * kMostOfByte;
}

}  // namespace mirrortrain::data
