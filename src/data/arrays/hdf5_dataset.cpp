#include "data/arrays/hdf5_dataset.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

using Filter = Hdf5Dataset::Filter;

/// Elements that lie one after the other, in the file or in memory.
class ContiguousInput : public Input {
 public:
  explicit ContiguousInput(std::shared_ptr<const Hdf5Dataset> dataset)
      : Input(dataset->name), dataset_(std::move(dataset)), file_(dataset_->path) {
    total_ = static_cast<std::uint64_t>(dataset_->shape.elements()) * dataset_->element.bytes;
  }

  std::size_t read(std::span<std::byte> to) override {
    const auto some = to.first(static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), total_ - done_)));
    std::size_t count = some.size();
    if (dataset_->offset) {
      count = file_.read_at(*dataset_->offset + done_, some);
    } else {
      count = std::min(count, dataset_->bytes.size() - std::min<std::size_t>(done_, dataset_->bytes.size()));
      std::copy_n(dataset_->bytes.data() + done_, count, some.data());
    }
    done_ += count;
    return count;
  }
  std::optional<std::uint64_t> offset() const override {
    return dataset_->offset ? std::optional(*dataset_->offset + done_) : std::nullopt;
  }
  std::uint64_t most_bytes() const override {
    if (!dataset_->offset) return dataset_->bytes.size();
    return file_.size() - std::min(*dataset_->offset, file_.size());
  }

 private:
  std::shared_ptr<const Hdf5Dataset> dataset_;
  PlainFile file_;
  std::uint64_t total_ = 0, done_ = 0;
};

/// HDF5's H5_checksum_fletcher32.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  std::uint32_t first = 0, second = 0;
  std::size_t words = bytes.size() / 2;
  for (std::size_t at = 0; words > 0;) {
    const std::size_t some = std::min<std::size_t>(words, 360);
    for (std::size_t i = 0; i < some; ++i, at += 2) {
      first += std::to_integer<std::uint32_t>(bytes[at]) << 8 | std::to_integer<std::uint32_t>(bytes[at + 1]);
      second += first;
    }
    words -= some;
    first = (first & 0xffff) + (first >> 16);
    second = (second & 0xffff) + (second >> 16);
  }
  if (bytes.size() % 2 != 0) {
    first += std::to_integer<std::uint32_t>(bytes.back()) << 8;
    second += first;
    first = (first & 0xffff) + (first >> 16);
    second = (second & 0xffff) + (second >> 16);
  }
  first = (first & 0xffff) + (first >> 16);
  second = (second & 0xffff) + (second >> 16);
  return second << 16 | first;
}

/// Elements in chunks: a band of rows is read at a time.
class ChunkedInput : public Input {
 public:
  explicit ChunkedInput(std::shared_ptr<const Hdf5Dataset> dataset)
      : Input(dataset->name), dataset_(std::move(dataset)), file_(dataset_->path) {
    const Shape& shape = dataset_->shape;
    row_bytes_ = dataset_->element.bytes;
    chunk_bytes_ = dataset_->element.bytes;
    chunks_of_band_ = 1;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      chunk_bytes_ *= static_cast<std::size_t>(dataset_->chunk[axis]);
      if (axis == 0) continue;
      row_bytes_ *= static_cast<std::size_t>(shape[axis]);
      chunks_of_band_ *= static_cast<std::size_t>((shape[axis] + dataset_->chunk[axis] - 1) / dataset_->chunk[axis]);
    }
    constexpr std::size_t kMostOfBand = std::size_t{256} << 20;
    rows_of_band_ = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(kMostOfBand / std::max<std::size_t>(row_bytes_, 1)), 1, dataset_->chunk[0]);
  }

  std::size_t read(std::span<std::byte> to) override {
    std::size_t done = 0;
    while (done < to.size() && (taken_ < band_.size() || read_band())) {
      const std::size_t count = std::min(to.size() - done, band_.size() - taken_);
      std::copy_n(band_.data() + taken_, count, to.data() + done);
      taken_ += count;
      done += count;
    }
    return done;
  }
  bool is_compressed() const override { return true; }
  std::uint64_t most_bytes() const override {
    constexpr std::uint64_t kMostDeflated = 1032;
    const bool is_deflated = std::ranges::count(dataset_->filters, Filter::kDeflate) > 0;
    std::uint64_t stored = 0;
    for (const Hdf5Dataset::Chunk& chunk : dataset_->chunks) stored += chunk.bytes;
    return std::min(stored, file_.size()) * (is_deflated ? kMostDeflated : 1);
  }

 private:
  bool read_band() {
    const Shape& shape = dataset_->shape;
    if (row_ >= shape[0] || row_bytes_ == 0) return false;
    const std::int64_t of_chunks = row_ / dataset_->chunk[0];
    const std::int64_t end = std::min({row_ + rows_of_band_, (of_chunks + 1) * dataset_->chunk[0], shape[0]});
    band_.resize(static_cast<std::size_t>(end - row_) * row_bytes_);
    taken_ = 0;
    std::vector<std::int64_t> corner(shape.rank(), 0);
    corner[0] = of_chunks * dataset_->chunk[0];
    for (std::size_t i = 0; i < chunks_of_band_; ++i) {
      read_chunk(dataset_->chunks[static_cast<std::size_t>(of_chunks) * chunks_of_band_ + i]);
      copy_chunk(corner, row_, end);
      for (std::size_t axis = shape.rank(); axis-- > 1;) {
        corner[axis] += dataset_->chunk[axis];
        if (corner[axis] < shape[axis]) break;
        corner[axis] = 0;
      }
    }
    row_ = end;
    return true;
  }

  /// Copies the lines of a chunk, elements along the last axis, that are in rows from `first` to `end`.
  void copy_chunk(const std::vector<std::int64_t>& corner, std::int64_t first, std::int64_t end) {
    const Shape& shape = dataset_->shape;
    const std::vector<std::int64_t>& chunk = dataset_->chunk;
    const std::size_t rank = shape.rank(), last = rank - 1, element = dataset_->element.bytes;
    std::vector<std::int64_t> at(rank, 0), count(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) count[axis] = std::min(chunk[axis], shape[axis] - corner[axis]);
    at[0] = first - corner[0];
    count[0] = end - corner[0];
    const std::size_t line = static_cast<std::size_t>(rank == 1 ? count[0] - at[0] : count[last]) * element;
    while (at[0] < count[0]) {
      std::size_t from = 0, to = 0;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        from = from * static_cast<std::size_t>(chunk[axis]) + static_cast<std::size_t>(at[axis]);
        const std::int64_t place = axis == 0 ? corner[0] + at[0] - first : corner[axis] + at[axis];
        to = to * static_cast<std::size_t>(shape[axis]) + static_cast<std::size_t>(place);
      }
      std::memcpy(band_.data() + to * element, chunk_.data() + from * element, line);
      if (rank == 1) return;
      std::size_t axis = last;
      while (axis-- > 0) {
        if (++at[axis] < count[axis] || axis == 0) break;
        at[axis] = 0;
      }
    }
  }

  /// Reads a chunk into chunk_, and undoes its filters.
  void read_chunk(const Hdf5Dataset::Chunk& chunk) {
    // Before there is memory for it: of a damaged file, these are any numbers.
    if (chunk.offset > file_.size() || chunk.bytes > file_.size() - chunk.offset) fail_at_chunk("the file ends in it");
    chunk_.resize(chunk.bytes);
    if (file_.read_at(chunk.offset, chunk_) != chunk.bytes) fail_at_chunk("the file ends in it");
    for (std::size_t i = dataset_->filters.size(); i-- > 0;) {
      if ((chunk.left_out >> i & 1) != 0) continue;
      switch (dataset_->filters[i]) {
        case Filter::kDeflate: inflate_chunk(); break;
        case Filter::kShuffle: put_bytes_together(); break;
        case Filter::kChecksum: pass_checksum(); break;
      }
    }
    if (chunk_.size() != chunk_bytes_) fail_at_chunk(fmt::format("it has {} bytes", chunk_.size()));
  }

  void inflate_chunk() {
    constexpr std::size_t kChecksumBytes = 4;
    if (chunk_bytes_ > most_inflated(chunk_.size())) {
      fail_at_chunk(fmt::format("{} bytes cannot be inflated to {}", chunk_.size(), chunk_bytes_));
    }
    other_.resize(chunk_bytes_ + kChecksumBytes);
    auto size = static_cast<uLongf>(other_.size());
    const int result = ::uncompress(reinterpret_cast<Bytef*>(other_.data()), &size,
                                    reinterpret_cast<const Bytef*>(chunk_.data()), static_cast<uLong>(chunk_.size()));
    if (result != Z_OK) fail_at_chunk("its compressed bytes are damaged");
    other_.resize(size);
    std::swap(chunk_, other_);
  }

  /// They lie by their place in an element: all first ones, all second ones, ...
  void put_bytes_together() {
    const std::size_t element = dataset_->element.bytes, elements = chunk_.size() / element;
    other_ = chunk_;
    for (std::size_t byte = 0; byte < element; ++byte) {
      for (std::size_t i = 0; i < elements; ++i) other_[i * element + byte] = chunk_[byte * elements + i];
    }
    std::swap(chunk_, other_);
  }

  void pass_checksum() {
    constexpr std::size_t kBytes = 4;
    if (chunk_.size() < kBytes) fail_at_chunk("its checksum is missing");
    std::uint32_t stored = 0;
    std::memcpy(&stored, chunk_.data() + chunk_.size() - kBytes, kBytes);
    chunk_.resize(chunk_.size() - kBytes);
    if (fletcher32(chunk_) != stored) fail_at_chunk("it does not match its checksum");
  }

  [[noreturn]] void fail_at_chunk(const std::string& what) const {
    throw Error(fmt::format("{}: a chunk of rows {} and later is damaged: {}; get the file again", name(), row_, what));
  }

  std::shared_ptr<const Hdf5Dataset> dataset_;
  PlainFile file_;
  std::size_t row_bytes_ = 0, chunk_bytes_ = 0;  ///< of elements as they are stored
  std::size_t chunks_of_band_ = 0;
  std::int64_t rows_of_band_ = 1, row_ = 0;
  std::vector<std::byte> band_, chunk_, other_;
  std::size_t taken_ = 0;  ///< of the band
};

}  // namespace

std::unique_ptr<Input> open_dataset(std::shared_ptr<const Hdf5Dataset> dataset) {
  if (dataset->chunk.empty()) return std::make_unique<ContiguousInput>(std::move(dataset));
  return std::make_unique<ChunkedInput>(std::move(dataset));
}

}  // namespace mirrortrain::data
