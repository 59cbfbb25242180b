#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/tables/row_cells.h"
#include "data/tables/table_file.h"

namespace mirrortrain::data {

/// What is held of a table.
struct HeldTable {
  Csv options;
  std::optional<Adapted> adapted;  ///< of the training data; null if this is it
  CsvReading reading;
  AdaptedTable columns;
  std::vector<TableFile> files;
  std::vector<std::uint64_t> offsets;  ///< of the rows that are kept
  std::shared_ptr<TableWords> words = std::make_shared<TableWords>();
  std::string identity;

  HeldTable(const Csv& csv, const CsvReading& how)
      : options(csv), adapted(how.adapted != nullptr ? std::optional(*how.adapted) : std::nullopt), reading(how) {
    reading.adapted = adapted ? &*adapted : nullptr;
    reading.bad = nullptr;
  }
  HeldTable(const HeldTable&) = delete;

  std::int64_t rows() const { return std::ssize(offsets); }
  /// Which file has a row.
  std::size_t file_of(std::int64_t row) const {
    const auto next = std::ranges::upper_bound(files, row, {}, &TableFile::first_row);
    return static_cast<std::size_t>(next - files.begin()) - 1;
  }
  /// Has the system fetch the rows' text from the disk, while this thread goes on.
  void will_read(std::int64_t first, std::int64_t count) const {
    constexpr std::uint64_t kMostOfRow = std::uint64_t{1} << 16;  // as rows that are left out may follow
    for (std::int64_t row = first; row < first + count; ++row) {
      const std::size_t file = file_of(row);
      const std::uint64_t begin = offsets[static_cast<std::size_t>(row)];
      const std::uint64_t end =
          row + 1 < end_of_file(file) ? offsets[static_cast<std::size_t>(row) + 1] : files[file].file->size();
      files[file].file->will_read(begin, std::min(end - begin, kMostOfRow));
    }
  }
  /// The row behind a file's last.
  std::int64_t end_of_file(std::size_t file) const {
    return file + 1 < files.size() ? files[file + 1].first_row : rows();
  }
};

/// Reads rows of a table again. For one thread at a time.
class RowParser {
 public:
  /// `wants`: which uses of the columns are read.
  template <class Wants>
  RowParser(const HeldTable& table, const Wants& wants)
      : table_(table),
        cells_(table.options, table.reading, table.columns, table.words),
        cursor_(table.options, table.reading, table.columns) {
    for (const TableFile& file : table.files) {
      const auto [found, is_new] = uses_.try_emplace(file.uses.get(), *file.uses);
      if (!is_new) continue;
      for (auto& of_column : found->second) {
        std::erase_if(of_column, [&](const ColumnUse& use) { return !wants(use); });
      }
    }
  }

  RowCells& cells() { return cells_; }

  /// Calls begin() before each row is read, and end() after.
  template <class Begin, class End>
  void read(std::int64_t first, std::int64_t count, const Begin& begin, const End& end) {
    while (count > 0) {
      const std::size_t number = table_.file_of(first);
      const TableFile& file = table_.files[number];
      const std::int64_t of_file = table_.end_of_file(number);
      const std::int64_t some = read_text(file, first, std::min(count, of_file - first), of_file);
      parse(file, uses_.at(file.uses.get()), first, some, begin, end);
      first += some;
      count -= some;
    }
  }

 private:
  static constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kOfRow = std::uint64_t{1} << 16;  ///< what is read first for a single one

  /// Whether the text has the end of its first row.
  bool begins_with_row(const TableFile& file) const {
    CsvText text({text_.data(), text_.size()}, file.beginning->delimiter());
    return text.pass_row(text_.data()) && text.position()[-1] == '\n';
  }

  /// Reads the text of at most so many rows, but not much at once. Returns of how many.
  std::int64_t read_text(const TableFile& file, std::int64_t first, std::int64_t count, std::int64_t of_file) {
    const auto offset = [&](std::int64_t row) {
      return row < of_file ? table_.offsets[static_cast<std::size_t>(row)] : file.file->size();
    };
    const std::uint64_t begin = offset(first);
    while (count > 1 && offset(first + count) - begin > kMostAtOnce) count = (count + 1) / 2;
    const std::uint64_t all = offset(first + count) - begin;
    // Behind a single row, rows that are left out may follow, of any size.
    for (std::uint64_t some = count > 1 ? all : std::min(all, kOfRow);; some = std::min(all, 2 * some)) {
      text_.resize(static_cast<std::size_t>(some));
      file.file->read(begin, std::as_writable_bytes(std::span(text_)));
      if (some == all || begins_with_row(file)) return count;
    }
  }

  template <class Begin, class End>
  void parse(const TableFile& file, const ColumnUses& uses, std::int64_t first, std::int64_t count, const Begin& begin,
             const End& end) {
    const CsvText& like = file.beginning->text();
    CsvText text({text_.data(), text_.size()}, like.delimiter(), like.decimal_point());
    cells_.set_folder(std::filesystem::path(file.path).parent_path());
    cursor_.open(*file.beginning, text, uses);
    const std::uint64_t text_begin = table_.offsets[static_cast<std::size_t>(first)];
    for (std::int64_t row = first; row < first + count; ++row) {
      const std::uint64_t offset = table_.offsets[static_cast<std::size_t>(row)];
      text.go_back(text_.data() + (offset - text_begin));
      begin();
      try {
        cells_.read(cursor_, uses);
      } catch (const Error& error) {
        // Every row was read once without.
        constexpr const char* kText =
            "{}: this data file was changed, while the run reads it; restore it, and resume the run (at byte {}: {})";
        throw Error(fmt::format(kText, file.path, offset, error.what()));
      }
      end();
    }
  }

  const HeldTable& table_;
  RowCells cells_;
  TableCursor cursor_;
  std::map<const ColumnUses*, ColumnUses> uses_;  ///< those that are wanted, by all of a file
  std::vector<char> text_;
};

/// A table's parsers, one for each thread that reads at the same time.
template <class Wants>
class RowParsers {
 public:
  RowParsers(std::shared_ptr<const HeldTable> table, Wants wants)
      : table_(std::move(table)), wants_(std::move(wants)) {}

  const HeldTable& table() const { return *table_; }
  /// Calls use(parser).
  template <class Use>
  void with_one(const Use& use) const {
    std::unique_ptr<RowParser> parser;
    {
      const std::lock_guard lock(mutex_);
      if (!unused_.empty()) {
        parser = std::move(unused_.back());
        unused_.pop_back();
      }
    }
    if (!parser) parser = std::make_unique<RowParser>(*table_, wants_);
    use(*parser);
    const std::lock_guard lock(mutex_);
    unused_.push_back(std::move(parser));
  }

 private:
  std::shared_ptr<const HeldTable> table_;
  Wants wants_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<RowParser>> unused_;
};

}  // namespace mirrortrain::data
