#include "data/stored_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/files.h"

namespace mirrortrain::data {
namespace {

class PickedStoredRows : public StoredRows {
 public:
  PickedStoredRows(std::shared_ptr<const StoredRows> from, std::vector<std::int64_t> rows, std::size_t row_bytes)
      : from_(std::move(from)), rows_(std::move(rows)), row_bytes_(row_bytes) {}

  const std::shared_ptr<const StoredRows>& from() const { return from_; }
  std::int64_t row_of(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)]; }

  std::int64_t rows() const override { return std::ssize(rows_); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    const auto wanted = std::span(rows_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    for (std::size_t at = 0; at < wanted.size();) at += read_some(wanted.subspan(at), to + at * row_bytes_);
  }
  void will_read(std::int64_t first, std::int64_t count) const override {
    for (std::int64_t row = first; row < first + count; ++row) from_->will_read(row_of(row), 1);
  }
  std::string identity() const override {
    const std::string from = from_->identity();
    return from.empty() ? ""
                        : fmt::format("{} {} {:08x}", from, rows_.size(), crc32_of(std::as_bytes(std::span(rows_))));
  }
  bool are_finite() const override { return from_->are_finite(); }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles& cache) const override {
    auto from = from_->by_position(cache);
    return from ? picked_rows(std::move(from), rows_, row_bytes_) : nullptr;
  }

 private:
  /// Reads the first of the wanted rows, with what lies between them where this is little. Returns how many.
  std::size_t read_some(std::span<const std::int64_t> wanted, std::byte* to) const {
    constexpr std::size_t kMostTogether = std::size_t{1} << 20;
    constexpr std::int64_t kMostForEach = 4;
    std::size_t count = 1;
    while (count < wanted.size() && wanted[count] > wanted[count - 1] &&
           wanted[count] - wanted[0] < kMostForEach * static_cast<std::int64_t>(count + 1) &&
           static_cast<std::size_t>(wanted[count] - wanted[0] + 1) * row_bytes_ <= kMostTogether) {
      ++count;
    }
    const std::int64_t span = wanted[count - 1] - wanted[0] + 1;
    if (span == static_cast<std::int64_t>(count)) {
      from_->read(wanted[0], span, to);
      return count;
    }
    std::vector<std::byte> between(static_cast<std::size_t>(span) * row_bytes_);  // reading may need memory like it
    from_->read(wanted[0], span, between.data());
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(to + i * row_bytes_, between.data() + static_cast<std::size_t>(wanted[i] - wanted[0]) * row_bytes_,
                  row_bytes_);
    }
    return count;
  }

  std::shared_ptr<const StoredRows> from_;
  std::vector<std::int64_t> rows_;
  std::size_t row_bytes_;
};

class JoinedRows : public StoredRows {
 public:
  JoinedRows(std::vector<std::shared_ptr<const StoredRows>> parts, std::size_t row_bytes)
      : parts_(std::move(parts)), row_bytes_(row_bytes) {
    for (const auto& part : parts_) {
      first_rows_.push_back(rows_);
      rows_ += part->rows();
    }
  }

  std::int64_t rows() const override { return rows_; }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    for_each_part(first, count, [&](const StoredRows& part, std::int64_t in_part, std::int64_t some) {
      part.read(in_part, some, to);
      to += static_cast<std::size_t>(some) * row_bytes_;
    });
  }
  void will_read(std::int64_t first, std::int64_t count) const override {
    for_each_part(first, count, [](const StoredRows& part, std::int64_t in_part, std::int64_t some) {
      part.will_read(in_part, some);
    });
  }
  void read_all(std::byte* to) const override {
    for (const auto& part : parts_) {
      part->read_all(to);
      to += static_cast<std::size_t>(part->rows()) * row_bytes_;
    }
  }
  std::string identity() const override {
    std::string all;
    for (const auto& part : parts_) {
      const std::string of_part = part->identity();
      if (of_part.empty()) return "";
      all += of_part + "\n";
    }
    return all;
  }
  bool are_finite() const override {
    return std::ranges::all_of(parts_, [](const auto& part) { return part->are_finite(); });
  }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles& cache) const override {
    std::vector<std::shared_ptr<const StoredRows>> parts;
    bool is_new = false;
    for (const auto& part : parts_) {
      auto made = part->by_position(cache);
      is_new = is_new || made;
      parts.push_back(made ? std::move(made) : part);
    }
    return is_new ? joined_rows(std::move(parts), row_bytes_) : nullptr;
  }

 private:
  /// Calls use(part, its first row of these, how many) for each part that has some of the rows.
  template <class Use>
  void for_each_part(std::int64_t first, std::int64_t count, const Use& use) const {
    auto part = static_cast<std::size_t>(std::ranges::upper_bound(first_rows_, first) - first_rows_.begin()) - 1;
    for (; count > 0; ++part) {
      const std::int64_t in_part = first - first_rows_[part], some = std::min(count, parts_[part]->rows() - in_part);
      if (some > 0) use(*parts_[part], in_part, some);
      first += some;
      count -= some;
    }
  }

  std::vector<std::shared_ptr<const StoredRows>> parts_;
  std::vector<std::int64_t> first_rows_;
  std::int64_t rows_ = 0;
  std::size_t row_bytes_;
};

}  // namespace

std::shared_ptr<const StoredRows> picked_rows(std::shared_ptr<const StoredRows> from, std::vector<std::int64_t> rows,
                                              std::size_t row_bytes) {
  if (const auto picked = std::dynamic_pointer_cast<const PickedStoredRows>(from)) {
    for (std::int64_t& row : rows) row = picked->row_of(row);
    from = picked->from();
  }
  return std::make_shared<PickedStoredRows>(std::move(from), std::move(rows), row_bytes);
}

std::shared_ptr<const StoredRows> joined_rows(std::vector<std::shared_ptr<const StoredRows>> parts,
                                              std::size_t row_bytes) {
  return std::make_shared<JoinedRows>(std::move(parts), row_bytes);
}

}  // namespace mirrortrain::data
