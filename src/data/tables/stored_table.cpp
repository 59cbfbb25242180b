#include "data/tables/stored_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "data/files/file_stamps.h"
#include "data/in_order.h"
#include "data/row_blocks.h"
#include "data/tables/row_finder.h"
#include "data/tables/stored_cells.h"
#include "data/tables/table_reader.h"
#include "data/tables/value_cells.h"
#include "report/batch_progress.h"

namespace mirrortrain::data {
namespace {

/// What is read at once where a column is searched.
constexpr std::size_t kSearched = std::size_t{1} << 20;

/// The labels and weights of an output, as they are found.
struct FoundLabels {
  bool is_held = true;
  std::vector<double> labels{}, weights{};
  std::vector<std::uint8_t> present{};
};

/// Reads a table once, and keeps what is held of it.
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
    facts_.resize(table_->columns.features.size());
    table_->words->features.resize(facts_.size());
    for (const CsvOutput& output : reading_.wants_labels ? outputs_of(options_) : std::vector<CsvOutput>()) {
      // Of several numbers as much as features would be held.
      outputs_.push_back({listed(output.labels->value).size() == 1});
    }
    table_->words->labels.resize(outputs_.size());
    for (TableFile& file : table_->files) {
      file.uses = reader_.uses_in(*file.beginning);
      reader_.add_remarks(*file.beginning, file.uses);
    }
    for (TableFile& file : table_->files) read(file);
    if (repeated_headers_ > 0) reader_.add_remark(repeated_header_text(first_repeated_, repeated_headers_));
    return finish();
  }

 private:
  struct ParsedBlock {
    CsvTable table;
    BadExamples bad;
    std::int64_t rows = 0;  ///< with those that are left out
  };

  void open_files() {
    table_->files.reserve(reader_.paths().size());  // they do not move
    reader_.open_files([&](const std::string& path, const std::vector<std::string>* known) -> const CsvFile& {
      TableFile& file = table_->files.emplace_back(TableFile{path});
      open_at_places(file, cache_);
      file.beginning = beginning_of(file, options_, known);
      bytes_ += file.file->size();
      return *file.beginning;
    });
  }

  void read(TableFile& file) {
    file.first_row = table_->rows();
    CsvFile& beginning = *file.beginning;
    RowFinder finder(file.file, {.begin = beginning.offset(),
                                 .line = beginning.text().line(beginning.text().position()),
                                 .delimiter = beginning.delimiter(),
                                 .header = std::string(beginning.header_text()),
                                 .threads = threads_});
    const std::int64_t first_row = row_;
    std::vector<std::uint64_t> offsets;
    for (auto blocks = finder.next(offsets); !blocks.empty(); blocks = finder.next(offsets)) {
      std::size_t done = 0;
      for (; done < blocks.size() && !knows_kinds(); ++done) {
        add(parse(file, blocks[done], kinds_), offsets);
      }
      in_order(
          blocks.size() - done, threads_,
          [&](std::size_t i) {
            std::vector<LabelCells::Kind> kinds = kinds_;
            return parse(file, blocks[done + i], kinds);
          },
          [&](ParsedBlock parsed) { add(std::move(parsed), offsets); });
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

  bool knows_kinds() const {
    return outputs_.empty() || (!kinds_.empty() && std::ranges::count(kinds_, LabelCells::Kind::kUnknown) == 0);
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
        TableReader(options_, reading, beginning.first_line(), table_->columns).read_block(rows, file.uses, kinds);
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

  /// Adds the next block of rows; those that are kept have their places among `offsets`, from which they are removed.
  void add(ParsedBlock parsed, std::vector<std::uint64_t>& offsets) {
    const CsvTable& table = parsed.table;
    const std::vector<std::int64_t>& own = table.features.picked;
    const std::int64_t kept = table.rows();
    if (kept < parsed.rows && picked_.empty() && !has_left_out_) {  // the first to be left out
      picked_.resize(table_->offsets.size());
      std::iota(picked_.begin(), picked_.end(), std::int64_t{0});
    }
    has_left_out_ = has_left_out_ || kept < parsed.rows;
    for (std::int64_t i = 0; i < kept; ++i) {
      const std::int64_t row = own.empty() ? i : own[static_cast<std::size_t>(i)];
      table_->offsets.push_back(offsets[taken_ + static_cast<std::size_t>(row)]);
      if (has_left_out_) picked_.push_back(row_ + row);
    }
    taken_ += static_cast<std::size_t>(parsed.rows);
    // What is left is of blocks that follow.
    if (taken_ == offsets.size() || taken_ > kMostTaken) {
      offsets.erase(offsets.begin(), offsets.begin() + static_cast<std::ptrdiff_t>(taken_));
      taken_ = 0;
    }
    if (parsed.bad.any()) {
      const LeftOut left = std::move(parsed.bad).left_out(1, "");
      std::size_t reason = 0;
      for (const std::int64_t row : left.rows) {
        const bool has_reason = reason < left.reasons.size() && left.of_reasons[reason] == row;
        reading_.bad->add(row_ + row, has_reason ? left.reasons[reason++] : "");
      }
    }
    add_features(table, kept < parsed.rows);
    for (std::size_t i = 0; i < outputs_.size(); ++i) add_labels(table, i);
    row_ += parsed.rows;
  }

  /// For a word of a block that is one too many.
  [[noreturn]] void fail_at_word(const CsvTable& table, std::size_t column, std::size_t word) const {
    const auto cells = table.features.span<double>();
    std::size_t row = 0;
    while (cells[row * facts_.size() + column] != static_cast<double>(word)) ++row;
    throw Error(many_words_text(fmt::format("{}, {}", table.features.row_text(static_cast<std::int64_t>(row)),
                                            table_->columns.text_of(table_->columns.features[column]))));
  }

  void add_features(const CsvTable& table, bool has_unused) {
    const auto cells = table.features.span<double>();
    const std::size_t width = facts_.size();
    for (std::size_t column = 0; column < width; ++column) {
      if (table_->columns.features[column].encoding) {
        const std::vector<std::string>& words = table.words[column];
        std::vector<bool> is_used(words.size(), !has_unused);
        for (std::size_t at = column; has_unused && at < cells.size(); at += width) {
          is_used[static_cast<std::size_t>(cells[at])] = true;
        }
        for (std::size_t i = 0; i < words.size(); ++i) {
          if (!is_used[i]) continue;
          if (table_->words->features[column].number_of(words[i]) >= kMostOfColumn) fail_at_word(table, column, i);
        }
        continue;
      }
      for (std::size_t at = column; at < cells.size(); at += width) add_number(cells[at], facts_[column]);
    }
  }

 public:
  static void add_number(double number, ColumnFacts& facts) {
    if (std::isnan(number)) {
      facts.has_missing = true;
      return;
    }
    facts.fits_float = facts.fits_float && static_cast<double>(static_cast<float>(number)) == number;
    facts.sum += number;
    ++facts.count;
  }

 private:
  void add_labels(const CsvTable& table, std::size_t output) {
    FoundLabels& found = outputs_[output];
    const Labels& labels = table.outputs[output];
    std::vector<double> numbers;  // of the block's words in the table
    for (const std::string& word : table.label_words[output]) {
      numbers.push_back(static_cast<double>(table_->words->labels[output].number_of(word)));
    }
    if (found.is_held) {
      const auto own = labels.array.span<double>();
      for (std::size_t row = 0; row < own.size(); ++row) {
        const bool is_word = !numbers.empty() && labels.is_present(static_cast<std::int64_t>(row));
        found.labels.push_back(is_word ? numbers[static_cast<std::size_t>(own[row])] : own[row]);
      }
    }
    const auto rows = static_cast<std::size_t>(labels.array.rows());
    if (labels.weights) {
      const auto own = labels.weights->span<double>().first(rows);
      found.weights.insert(found.weights.end(), own.begin(), own.end());
    }
    if (labels.present) {
      const auto own = labels.present->span<std::uint8_t>().first(rows);
      found.present.insert(found.present.end(), own.begin(), own.end());
    }
  }

  Array described(DType dtype, Shape row) const {
    Array array;
    array.dtype = dtype;
    array.shape = row.with_rows(table_->rows());
    array.origin = reader_.paths().front();
    array.first_line = parts_.front().first_line;
    if (parts_.size() > 1) array.parts = parts_;
    array.picked = picked_;
    return array;
  }

  template <class T>
  Array held(DType dtype, std::vector<T>& numbers) const {
    Array array = described(dtype, Shape{});
    array.bytes = Bytes(numbers.size() * sizeof(T), array.origin);
    if (!numbers.empty()) std::memcpy(array.bytes.data(), numbers.data(), numbers.size() * sizeof(T));
    numbers = {};
    return array;
  }

  std::string identity() const {
    FileStamps stamps;
    for (const TableFile& file : table_->files) stamps.add(file.path);
    std::string text =
        fmt::format("{} {} {:08x}", stamps.text(), table_->rows(), crc32_of(std::as_bytes(std::span(table_->offsets))));
    for (const TableFile& file : table_->files) text += fmt::format(" {}", file.beginning->delimiter());
    text += fmt::format(" {}", options_.decimal);
    for (const std::string& mark : table_->columns.missing_values) text += fmt::format(" {:?}", mark);
    for (const AdaptedColumn& column : table_->columns.features) {
      text += fmt::format(" {}{}{}", column.column, column.encoding ? "w" : "", column.missing ? "m" : "");
      if (!column.crossing) continue;
      text += fmt::format("x{}", column.crossing->bins);
      for (const auto& part : column.crossing->parts) text += fmt::format("+{}{}", part.column, part.is_integer);
    }
    for (const TableOutput& output : table_->columns.outputs) {
      for (const std::int64_t column : output.labels) text += fmt::format(" l{}", column);
    }
    return text;
  }

  CsvTable finish() {
    table_->words->kinds = kinds_;
    table_->words->kinds.resize(outputs_.size());
    table_->offsets.shrink_to_fit();
    table_->identity = identity();
    CsvTable table;
    table.columns = table_->columns;
    table.facts = facts_;
    table.features = described(DType::kFloat64, {std::ssize(facts_)});
    if (facts_.empty()) {
      table.features.bytes = Bytes(0, table.features.origin);
    } else {
      table.features.stored = stored_cells(table_);
    }
    for (const WordList& words : table_->words->features) table.words.push_back(words.words());
    for (std::size_t i = 0; i < table.columns.inputs.size(); ++i) table.contents.push_back(content_of(i));
    const std::vector<CsvOutput> options = outputs_of(options_);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      FoundLabels& found = outputs_[i];
      const std::int64_t width = std::ssize(listed(options[i].labels->value));
      Labels labels{options[i].name,
                    found.is_held ? held(DType::kFloat64, found.labels) : described(DType::kFloat64, {width})};
      if (!found.is_held) labels.array.stored = stored_labels(table_, i);
      if (found.is_held && is_list(options[i].labels->value)) labels.array.shape = {table_->rows(), 1};
      if (options[i].weights != nullptr) labels.weights = held(DType::kFloat64, found.weights);
      if (ignores_missing(options[i].labels->value)) labels.present = held(DType::kUint8, found.present);
      table.outputs.push_back(std::move(labels));
      table.label_words.push_back(table_->words->labels[i].words());
    }
    if (table.outputs.empty()) {
      table.outputs.push_back({"", described(DType::kFloat64, {0})});
      table.label_words.resize(1);
    }
    table.remarks = reader_.take_remarks();
    return table;
  }

  TableContent content_of(std::size_t input) const {
    TableContent content;
    const auto& own = table_->columns.inputs[input].content;
    if (const auto* const texts = std::get_if<TableInput::Texts>(&own)) {
      const TextCells cells(*texts);
      content.tokens = described(cells.dtype(), {texts->length});
      content.tokens->tokens = cells.different();
      content.tokens->stored = stored_tokens(table_, input, cells.dtype());
    } else if (std::holds_alternative<TableInput::Pictures>(own)) {
      content.paths = stored_paths(table_, input);
    }
    return content;
  }

  static constexpr std::size_t kMostTaken = std::size_t{1} << 20;

  const Csv& options_;
  const CsvReading& reading_;
  const UnpackedFiles& cache_;
  int threads_;
  TableReader reader_;
  std::shared_ptr<HeldTable> table_;
  std::vector<ColumnFacts> facts_;
  std::vector<FoundLabels> outputs_;
  std::vector<LabelCells::Kind> kinds_;
  std::vector<Array::Part> parts_;
  std::vector<std::int64_t> picked_;
  bool has_left_out_ = false;
  std::int64_t row_ = 0;   ///< including those that are left out
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

std::vector<ColumnFacts> facts_of(const CsvTable& table) {
  std::vector<ColumnFacts> facts(table.columns.features.size());
  const std::size_t width = facts.size();
  for_each_block<double>(table.features, 0, width == 0 ? 0 : table.rows(),
                         [&](std::int64_t, std::span<const double> cells) {
                           for (std::size_t i = 0; i < cells.size(); ++i) {
                             TableScan::add_number(cells[i], facts[i % width]);
                           }
                           return true;
                         });
  return facts;
}

}  // namespace mirrortrain::data
