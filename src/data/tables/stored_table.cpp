#include "data/tables/stored_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/in_order.h"
#include "data/tables/found_rows.h"
#include "data/tables/found_table.h"
#include "data/tables/row_finder.h"
#include "data/tables/table_reader.h"
#include "report/batch_progress.h"

namespace mirrortrain::data {
namespace {

/// What is read at once where a column is searched.
constexpr std::size_t kSearched = std::size_t{1} << 20;

/// Reads a table once, its rows found and parsed by several threads, block by block.
class TableScan {
 public:
  TableScan(const Csv& options, const CsvReading& reading, const UnpackedFiles& cache, int threads)
      : options_(options),
        reading_(reading),
        cache_(cache),
        threads_(threads),
        reader_(options, reading),
        table_(std::make_shared<HeldTable>(options, reading)),
        progress_("reading " + std::filesystem::path(reader_.paths().front()).filename().string(), true) {}

  CsvTable run() {
    open_files();
    table_->columns = reader_.columns();
    FoundTable found(options_, reading_, table_);
    for (TableFile& file : table_->files) read(file, found);
    if (repeated_headers_ > 0) reader_.add_remark(repeated_header_text(first_repeated_, repeated_headers_));
    return found.take(std::move(parts_), reader_.take_remarks());
  }

 private:
  struct ParsedBlock {
    CsvTable table;
    BadExamples bad;
    std::int64_t rows = 0;  ///< with those that are left out
  };

  /// Of each file its first line is kept, not the rows that were looked at to understand it: there may be many files.
  void open_files() {
    table_->files.reserve(reader_.paths().size());  // they do not move
    reader_.open_files(
        [&](const std::string& path, const std::vector<std::string>* known) -> const CsvFile& {
          TableFile& file = table_->files.emplace_back(TableFile{path});
          open_at_places(file, cache_);
          file.beginning = beginning_of(file, options_, known);
          bytes_ += file.file->size();
          return *file.beginning;
        },
        [&] {
          TableFile& file = table_->files.back();
          ColumnUses uses = reader_.uses_in(*file.beginning);
          reader_.add_remarks(*file.beginning, uses);
          file.beginning->forget_rows();
          const bool is_first = table_->files.size() == 1;
          const auto& before = is_first ? file.uses : table_->files[table_->files.size() - 2].uses;
          file.uses = !is_first && uses == *before ? before : std::make_shared<const ColumnUses>(std::move(uses));
        });
  }

  void read(TableFile& file, FoundTable& found) {
    file.first_row = table_->rows();
    CsvFile& beginning = *file.beginning;
    RowFinder finder(file.file, {.begin = beginning.offset(),
                                 .line = beginning.text().line(beginning.text().position()),
                                 .delimiter = beginning.delimiter(),
                                 .header = std::string(beginning.header_text()),
                                 .threads = threads_});
    const std::int64_t first_row = found.rows();
    std::vector<std::uint64_t> offsets;
    for (auto blocks = finder.next(offsets); !blocks.empty(); blocks = finder.next(offsets)) {
      std::size_t done = 0;
      for (; done < blocks.size() && !found.knows_kinds(); ++done) {
        add(parse(file, blocks[done], found.kinds()), offsets, found);
      }
      in_order(
          blocks.size() - done, threads_,
          [&](std::size_t i) {
            std::vector<LabelCells::Kind> kinds = found.kinds();
            return parse(file, blocks[done + i], kinds);
          },
          [&](ParsedBlock parsed) { add(std::move(parsed), offsets, found); });
      progress_.show(static_cast<std::int64_t>((read_ + blocks.back().end) >> 20) + 1,
                     static_cast<std::int64_t>(bytes_ >> 20) + 1);
    }
    read_ += file.file->size();
    const bool has_lines = beginning.first_line().has_lines && finder.one_line_each();
    parts_.push_back({first_row, file.path, has_lines ? finder.first_line() : 0});
    if (finder.repeated_headers() == 0) return;
    if (repeated_headers_ == 0) first_repeated_ = fmt::format("{}:{}", file.path, finder.first_repeated());
    repeated_headers_ += finder.repeated_headers();
  }

  char point_of(const TableFile& file) const { return file.form.is_of_lines ? options_.decimal.front() : '.'; }

  ParsedBlock parse(const TableFile& file, const RowBlock& block, std::vector<LabelCells::Kind>& kinds) const {
    std::string text(static_cast<std::size_t>(block.end - block.begin), '\0');
    file.file->read(block.begin, std::as_writable_bytes(std::span(text)));
    const CsvFile& beginning = *file.beginning;
    CsvFile rows(beginning.first_line(), text, beginning.delimiter(), point_of(file),
                 CsvPlaces{block.line, block.first});
    rows.pass_over(beginning.header_text());
    text = {};
    ParsedBlock parsed{{}, BadExamples(OnBadExample::kSkip), block.rows};
    CsvReading reading = reading_;
    if (reading.bad != nullptr) reading.bad = &parsed.bad;
    reading.numbers_follow = [&](std::size_t column) { return numbers_follow(file, block.end, column); };
    parsed.table =
        TableReader(options_, reading, beginning.first_line(), table_->columns).read_block(rows, *file.uses, kinds);
    return parsed;
  }

  /// Whether the next cell of a column that is neither empty nor a mark of a missing number, from a row on, is a
  /// number.
  bool numbers_follow(const TableFile& file, std::uint64_t begin, std::size_t column) const {
    const std::uint64_t size = file.file->size();
    std::string some;
    for (std::uint64_t bytes = kSearched; begin < size;) {
      some.resize(static_cast<std::size_t>(std::min(bytes, size - begin)));
      file.file->read(begin, std::as_writable_bytes(std::span(some)));
      const bool is_cut = begin + some.size() < size;
      CsvText text(some, file.beginning->delimiter(), point_of(file));
      const Following found = following_in(text, 0, column, table_->columns.missing_values, is_cut);
      if (found != Following::kNothing || !is_cut) return found == Following::kNumber;
      const std::size_t passed = some.size() - text.rest().size();
      bytes = passed == 0 ? 2 * bytes : kSearched;  // for a row that is longer
      begin += passed;
    }
    return false;
  }

  /// Adds the next block of rows, whose places are the next of `offsets`, from which they are removed.
  void add(ParsedBlock parsed, std::vector<std::uint64_t>& offsets, FoundTable& found) {
    if (parsed.bad.any()) {
      const LeftOut left = std::move(parsed.bad).left_out(1, "");
      std::size_t reason = 0;
      for (const std::int64_t row : left.rows) {
        const bool has_reason = reason < left.reasons.size() && left.of_reasons[reason] == row;
        reading_.bad->add(found.rows() + row, has_reason ? left.reasons[reason++] : "");
      }
    }
    found.add(parsed.table, std::span(offsets).subspan(taken_, static_cast<std::size_t>(parsed.rows)));
    taken_ += static_cast<std::size_t>(parsed.rows);
    // What is left is of blocks that follow.
    if (taken_ == offsets.size() || taken_ > kMostTaken) {
      offsets.erase(offsets.begin(), offsets.begin() + static_cast<std::ptrdiff_t>(taken_));
      taken_ = 0;
    }
  }

  static constexpr std::size_t kMostTaken = std::size_t{1} << 20;

  const Csv& options_;
  const CsvReading& reading_;
  const UnpackedFiles& cache_;
  int threads_;
  TableReader reader_;
  std::shared_ptr<HeldTable> table_;
  std::vector<Array::Part> parts_;
  std::size_t taken_ = 0;  ///< of the offsets that were found
  std::int64_t repeated_headers_ = 0;
  std::string first_repeated_;
  std::uint64_t bytes_ = 0, read_ = 0;
  report::BatchProgress progress_;
};

}  // namespace

CsvTable open_table(const Csv& options, const CsvReading& reading, const UnpackedFiles& cache, int threads) {
  return TableScan(options, reading, cache, threads).run();
}

}  // namespace mirrortrain::data
