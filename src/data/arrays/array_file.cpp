#include "data/arrays/array_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/files/file_stamps.h"
#include "data/files/positioned_file.h"
#include "data/files/unpacked_files.h"
#include "data/kept_findings.h"
#include "data/reading_progress.h"

namespace mirrortrain::data {
namespace {

/// For each element of a row in C order, its number among those of a row in Fortran order.
std::vector<std::size_t> fortran_places(const Shape& row) {
  std::vector<std::size_t> strides(row.rank()), index(row.rank()), places;
  std::size_t stride = 1;
  for (std::size_t axis = 0; axis < row.rank(); ++axis) {
    strides[axis] = stride;
    stride *= static_cast<std::size_t>(row[axis]);
  }
  places.reserve(stride);
  for (std::size_t i = 0; i < stride; ++i) {
    std::size_t place = 0;
    for (std::size_t axis = 0; axis < row.rank(); ++axis) place += index[axis] * strides[axis];
    places.push_back(place);
    for (std::size_t axis = row.rank(); axis-- > 0;) {
      if (++index[axis] < static_cast<std::size_t>(row[axis])) break;
      index[axis] = 0;
    }
  }
  return places;
}

Shape row_shape_of(const Shape& shape) { return Shape(std::vector<std::int64_t>(shape.begin() + 1, shape.end())); }

/// Converts Fortran order to C order.
void transpose(const Array& from, std::byte* to) {
  const std::vector<std::size_t> places = fortran_places(from.row_shape());
  const std::size_t bytes = size_of(from.dtype);
  const auto rows = static_cast<std::size_t>(from.rows());
  for (std::size_t row = 0; row < rows; ++row) {
    for (const std::size_t place : places) {
      std::memcpy(to, from.bytes.data() + (place * rows + row) * bytes, bytes);
      to += bytes;
    }
  }
}

/// The rows of an array in a plain file, in C order.
class PlainRows : public StoredRows {
 public:
  /// `unpacked`: the file, if it is one of these.
  PlainRows(const std::string& path, std::string name, const ArrayHeader& header, std::uint64_t offset,
            std::string identity, std::shared_ptr<const UnpackedFile> unpacked = nullptr)
      : unpacked_(std::move(unpacked)),
        file_(path),
        name_(std::move(name)),
        element_(header.element),
        rows_(header.shape[0]),
        row_elements_(static_cast<std::size_t>(row_shape_of(header.shape).elements())),
        offset_(offset),
        identity_(std::move(identity)) {}

  std::int64_t rows() const override { return rows_; }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    const std::size_t elements = static_cast<std::size_t>(count) * row_elements_;
    read_elements_at(static_cast<std::size_t>(first) * row_elements_, elements, to);
  }
  void will_read(std::int64_t first, std::int64_t count) const override {
    const std::uint64_t row_bytes = std::uint64_t{row_elements_} * element_.bytes;
    file_.will_read(offset_ + static_cast<std::uint64_t>(first) * row_bytes,
                    static_cast<std::uint64_t>(count) * row_bytes);
  }
  std::string identity() const override { return identity_; }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

  /// Writes elements from the one of this number on, whatever their order.
  void read_elements_at(std::size_t first, std::size_t count, std::byte* to) const {
    const std::uint64_t at = offset_ + std::uint64_t{first} * element_.bytes;
    const std::size_t bytes = count * element_.bytes;
    if (is_as_in_memory(element_)) return file_.read(at, {to, bytes});
    thread_local std::vector<std::byte> stored;
    stored.resize(std::max(stored.size(), bytes));
    file_.read(at, std::span(stored).first(bytes));
    decode_elements(element_, stored.data(), to, count, name_);
  }

 private:
  std::shared_ptr<const UnpackedFile> unpacked_;
  PositionedFile file_;
  std::string name_;
  Element element_;
  std::int64_t rows_;
  std::size_t row_elements_;
  std::uint64_t offset_;
  std::string identity_;
};

/// The rows of a file as it is, which have to be made readable by position.
class RowsOfFile : public StoredRows {
 public:
  RowsOfFile(ArrayFile file, ArrayHeader header, std::optional<std::uint64_t> offset)
      : file_(std::move(file)), header_(std::move(header)), offset_(offset) {
    FileStamps stamps;
    stamps.add(file_.path);
    identity_ = fmt::format("{} {}", stamps.text(), file_.name);
  }

  std::int64_t rows() const override { return header_.shape[0]; }
  void read(std::int64_t, std::int64_t, std::byte*) const override {
    throw Error(fmt::format("{}: its rows cannot be read one by one yet", file_.name));
  }
  void read_all(std::byte* to) const override {
    const std::unique_ptr<Input> input = file_.open();
    const ArrayHeader now = file_.read_header(*input);
    if (now.shape != header_.shape) throw Error(fmt::format("{}: it was changed while it was read", file_.name));
    if (!header_.fortran_order) return read_elements(*input, header_.element, header_.shape, to);
    transpose(data::read_elements(*input, header_.element, header_.shape), to);
  }
  std::string identity() const override { return identity_; }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles& cache) const override {
    if (offset_) require_size();
    std::shared_ptr<const PlainRows> rows = offset_ ? plain(file_.path, header_, *offset_) : unpacked(cache);
    return header_.fortran_order ? in_rows(*rows, cache) : rows;
  }

 private:
  std::shared_ptr<const PlainRows> plain(const std::string& path, const ArrayHeader& header, std::uint64_t offset,
                                         std::shared_ptr<const UnpackedFile> unpacked = nullptr) const {
    return std::make_shared<PlainRows>(path, file_.name, header, offset, identity_, std::move(unpacked));
  }

  /// The whole input is read once, which checks its size and, in an archive, its checksum.
  void require_size() const {
    const std::unique_ptr<Input> input = file_.open();
    static_cast<void>(file_.read_header(*input));
    const std::uint64_t bytes = stored_bytes();
    if (input->has_checksum()) {
      constexpr std::string_view kKind = "checked";
      if (kept_finding(std::string(kKind), identity_)) return;
      pass(*input, bytes, "checking", [](std::span<const std::byte>) {});
      return keep_finding(std::string(kKind), identity_, true);
    }
    input->skip(bytes, what());
    input->require_end();
  }

  /// Calls take(bytes) with the elements' bytes, as they are stored. `what_is_done`: on the terminal.
  template <class Take>
  void pass(Input& input, std::uint64_t bytes, const char* what_is_done, const Take& take) const {
    ReadingProgress progress(fmt::format("{} {}", what_is_done, file_.name), bytes);
    constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(bytes, kBlock)));
    for (std::uint64_t done = 0; done < bytes;) {
      const auto some = std::span(block).first(static_cast<std::size_t>(std::min(kBlock, bytes - done)));
      input.read_all(some, what());
      take(some);
      done += some.size();
      progress.show(done);
    }
    input.require_end();
  }

  std::shared_ptr<const PlainRows> unpacked(const UnpackedFiles& cache) const {
    const auto file = cache.find_or_write(identity_, file_.name, {stored_bytes()}, [&](const UnpackedFiles::Put& put) {
      const std::unique_ptr<Input> input = file_.open();
      static_cast<void>(file_.read_header(*input));
      pass(*input, stored_bytes(), "unpacking", put);
    });
    return plain(file->path(), header_, 0, file);
  }

  /// Of Fortran order: the same in C order, a block of rows at a time.
  std::shared_ptr<const PlainRows> in_rows(const PlainRows& columns, const UnpackedFiles& cache) const {
    ArrayHeader header = header_;
    header.fortran_order = false;
    header.element = element_in_memory(header_.element.dtype());
    const std::size_t element = header.element.bytes;
    const std::vector<std::size_t> places = fortran_places(row_shape_of(header_.shape));
    const auto rows = static_cast<std::size_t>(header_.shape[0]);
    const std::size_t row_bytes = places.size() * element;
    const auto write = [&](const UnpackedFiles::Put& put) {
      constexpr std::size_t kBlock = std::size_t{32} << 20;
      const std::size_t together = std::clamp<std::size_t>(kBlock / std::max<std::size_t>(row_bytes, 1), 1, rows);
      std::vector<std::byte> block(together * row_bytes), column(together * element);
      ReadingProgress progress("turning " + file_.name, rows * row_bytes);
      for (std::size_t first = 0; first < rows; first += together) {
        const std::size_t count = std::min(together, rows - first);
        for (std::size_t i = 0; i < places.size(); ++i) {
          columns.read_elements_at(places[i] * rows + first, count, column.data());
          for (std::size_t row = 0; row < count; ++row) {
            std::memcpy(block.data() + row * row_bytes + i * element, column.data() + row * element, element);
          }
        }
        put(std::span(block).first(count * row_bytes));
        progress.show((first + count) * row_bytes);
      }
    };
    const auto file = cache.find_or_write(identity_ + " in C order", file_.name, {rows * row_bytes}, write);
    return plain(file->path(), header, 0, file);
  }

  std::uint64_t stored_bytes() const { return checked_bytes(header_.shape, header_.element.bytes, file_.name); }
  std::string what() const { return fmt::format("data for the shape {}", header_.shape.text()); }

  ArrayFile file_;
  ArrayHeader header_;
  std::optional<std::uint64_t> offset_;  ///< of the elements in the file, where it has them as they are
  std::string identity_;
};

}  // namespace

Array open_array(ArrayFile file) {
  const std::unique_ptr<Input> input = file.open();
  ArrayHeader header = file.read_header(*input);
  const std::uint64_t stored = checked_bytes(header.shape, header.element.bytes, file.name);
  input->require_possible(stored, fmt::format("data for the shape {}", header.shape.text()));
  Array array;
  array.dtype = header.element.dtype();
  array.shape = header.shape;
  array.origin = file.name;
  array.stored = std::make_shared<RowsOfFile>(std::move(file), std::move(header), input->offset());
  return array;
}

Array read_array(Input& input, ArrayHeader header) {
  Array array = read_elements(input, header.element, std::move(header.shape));
  if (!header.fortran_order) return array;
  Array in_rows(array.dtype, array.shape, array.origin);
  transpose(array, in_rows.bytes.data());
  return in_rows;
}

}  // namespace mirrortrain::data
