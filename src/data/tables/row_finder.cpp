#include "data/tables/row_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "base/error.h"
#include "data/in_threads.h"
#include "data/tables/csv_text.h"
#include "data/tables/found_rows.h"

namespace mirrortrain::data {
namespace {

/// What is read behind a block, to see what its last line is.
constexpr std::size_t kBehind = 4096;

std::int64_t lines_in(std::string_view text) { return std::ranges::count(text, '\n'); }

}  // namespace

/// What a thread finds in a block by itself.
struct RowFinder::Found {
  std::uint64_t begin = 0, end = 0;
  std::int64_t lines = 0;                    ///< ends of lines
  bool is_simple = true;                     ///< no quotes
  std::vector<std::uint64_t> rows{};         ///< where they begin, if it is simple and begins outside of quotes
  std::vector<std::int64_t> lines_before{};  ///< ends of lines in the block before each
  std::vector<Place> headers{};              ///< that occur again, by lines of the block
};

RowFinder::RowFinder(std::shared_ptr<const PositionedFile> file, const Options& options)
    : file_(std::move(file)),
      options_(options),
      at_(options.begin),
      line_at_(options.line),
      next_{options.begin, options.line} {}

/// What begins at a place of the text, where a line does. `is_end`: whether the text ends with the file.
RowFinder::Line RowFinder::line_at(std::string_view text, std::size_t at, bool is_end) const {
  const std::string& header = options_.header;
  if (!header.empty() && at < text.size() && text[at] == header[0]) {
    const std::string_view rest = text.substr(at);
    if (rest.size() <= header.size() && !is_end) return Line::kUnknown;
    if (begins_with_header(rest, header)) return Line::kHeader;
  }
  if (at < text.size() && text[at] > ' ') return Line::kRow;
  while (at < text.size() && (text[at] == ' ' || (text[at] == '\t' && options_.delimiter != '\t'))) ++at;
  while (at < text.size() && text[at] == '\r') ++at;
  if (at == text.size()) return is_end ? Line::kBlank : Line::kUnknown;
  return text[at] == '\n' ? Line::kBlank : Line::kRow;
}

/// Looks for the rows of a block by itself. Thread-safe.
void RowFinder::find(std::uint64_t begin, Found& found) const {
  thread_local std::vector<std::byte> bytes;
  found.begin = begin;
  found.end = std::min<std::uint64_t>(begin + options_.block_bytes, file_->size());
  const std::uint64_t from = begin - (begin > options_.begin ? 1 : 0);  // what ends before it says whether one begins
  const std::uint64_t to = std::min<std::uint64_t>(found.end + options_.header.size() + kBehind, file_->size());
  bytes.resize(std::max(bytes.size(), static_cast<std::size_t>(to - from)));
  file_->read(from, std::span(bytes).first(static_cast<std::size_t>(to - from)));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(to - from));
  const auto own = static_cast<std::size_t>(found.end - from);
  found.is_simple = text.substr(0, own).find('"') == text.npos;
  if (!found.is_simple) {
    found.lines =
        lines_in(text.substr(static_cast<std::size_t>(begin - from), own - static_cast<std::size_t>(begin - from)));
    return;
  }
  std::int64_t lines = 0;  // ends that are in this block
  for (const char *at = text.data(), *const end = text.data() + own; at < end; ++at) {
    at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (at == nullptr) break;
    const auto place = static_cast<std::size_t>(at - text.data()) + 1;
    if (from + place > begin) ++lines;
    if (place == own) break;  // the next block's row
    switch (line_at(text, place, to == file_->size())) {
      case Line::kRow:
        found.rows.push_back(from + place);
        found.lines_before.push_back(lines);
        break;
      case Line::kHeader: found.headers.push_back({from + place, lines}); break;
      case Line::kBlank: break;
      case Line::kUnknown: found.is_simple = false; break;
    }
  }
  found.lines = lines;
}

void RowFinder::add_row(const Place& place, std::vector<std::uint64_t>& offsets) {
  if (rows_ == 0) first_line_ = place.line;
  one_line_each_ = one_line_each_ && place.line == first_line_ + rows_;
  if (!blocks_.empty() && blocks_.back().end == 0 && blocks_.back().begin >= at_) {
    ++blocks_.back().rows;
  } else {
    if (!blocks_.empty()) blocks_.back().end = place.offset;
    blocks_.push_back({rows_, 1, place.offset, 0, place.line});
  }
  offsets.push_back(place.offset);
  ++rows_;
}

/// Counts a header that occurs again. One behind the last row of a simple block is met again behind that row.
void RowFinder::add_header(const Place& place) {
  if (place.offset < behind_header_) return;
  behind_header_ = place.offset + 1;
  if (repeated_headers_++ == 0) first_repeated_ = place.line;
}

/// Adds the rows of the next block.
void RowFinder::take(const Found& found, std::vector<std::uint64_t>& offsets) {
  const bool is_first = found.begin == options_.begin;
  if (!found.is_simple || is_first) {
    if (next_.offset < found.end) find_one_by_one(found.end, offsets);
  } else {
    const auto is_known = [&](std::uint64_t offset) {
      return offset < next_.offset || (offset == next_.offset && is_added_);
    };
    for (const Place& header : found.headers) {
      if (!is_known(header.offset)) add_header({header.offset, line_at_ + header.line});
    }
    for (std::size_t i = 0; i < found.rows.size(); ++i) {
      if (is_known(found.rows[i])) continue;
      next_ = {found.rows[i], line_at_ + found.lines_before[i]};
      is_added_ = true;
      add_row(next_, offsets);
    }
  }
  at_ = found.end;
  line_at_ += found.lines;
}

/// Has these bytes of the file in the window, and what is behind them for a while.
bool RowFinder::begin_window(std::uint64_t from, std::uint64_t to) {
  to = std::min(to, file_->size());
  window_begin_ = from;
  window_.resize(static_cast<std::size_t>(to - from));
  file_->read(from, window_);
  return to == file_->size();
}

/// Follows rows, quoted or not, from the last one that is known, until one begins behind `end`.
void RowFinder::find_one_by_one(std::uint64_t end, std::vector<std::uint64_t>& offsets) {
  std::uint64_t to = end + options_.header.size() + kBehind;
  bool is_end = begin_window(next_.offset, to);
  std::size_t at = 0;  // of next_ in the window
  const auto text = [&] { return std::string_view(reinterpret_cast<const char*>(window_.data()), window_.size()); };
  const auto read_more = [&] {
    if (next_.offset + kLongestRow < to) fail_at_long_row(file_->path(), next_.line);
    to += to - next_.offset;
    is_end = begin_window(next_.offset, to);
    at = 0;
  };
  const auto pass = [&](std::size_t behind) {
    next_.line += lines_in(text().substr(at, behind - at));
    next_.offset = window_begin_ + behind;
    at = behind;
    is_added_ = false;
  };
  while (next_.offset < end) {
    const std::size_t line_end = text().find('\n', at);
    if (!is_added_) {
      const Line line = line_at(text(), at, is_end);
      if (line == Line::kUnknown || (line == Line::kBlank && line_end == std::string_view::npos && !is_end)) {
        read_more();
        continue;
      }
      if (line == Line::kBlank) {
        pass(line_end == std::string_view::npos ? text().size() : line_end + 1);
        continue;
      }
      if (line == Line::kHeader) {
        CsvText row(text(), options_.delimiter);
        row.pass_row(text().data() + at);
        add_header(next_);
        pass(static_cast<std::size_t>(row.position() - text().data()));
        continue;
      }
    }
    const bool is_plain =
        line_end != std::string_view::npos && std::memchr(text().data() + at, '"', line_end - at) == nullptr;
    std::size_t behind = line_end + 1;
    if (!is_plain) {
      CsvText row(text(), options_.delimiter);
      const bool is_closed = row.pass_row(text().data() + at);
      behind = static_cast<std::size_t>(row.position() - text().data());
      const bool is_whole = is_closed && behind > 0 && text()[behind - 1] == '\n';
      if (!is_whole && !is_end) {
        read_more();
        continue;
      }
      if (!is_whole) behind = text().size();
    }
    if (!std::exchange(is_added_, true)) add_row(next_, offsets);
    pass(behind);
  }
}

std::vector<RowBlock> RowFinder::next(std::vector<std::uint64_t>& offsets) {
  const std::uint64_t size = file_->size();
  while (at_ < size) {
    const std::size_t left = static_cast<std::size_t>((size - at_ + options_.block_bytes - 1) / options_.block_bytes);
    constexpr std::size_t kOfThread = 8;
    std::vector<Found> found(std::min(left, kOfThread * static_cast<std::size_t>(options_.threads)));
    in_threads(found.size(), options_.threads, [&](std::size_t i) { find(at_ + i * options_.block_bytes, found[i]); });
    for (const Found& one : found) take(one, offsets);
    if (blocks_.size() > 1) break;  // the last one's end is not known yet
  }
  std::vector<RowBlock> whole = std::move(blocks_);
  blocks_.clear();
  if (at_ < size) {
    blocks_.push_back(whole.back());
    whole.pop_back();
  } else if (!whole.empty()) {
    whole.back().end = size;
  }
  return whole;
}

}  // namespace mirrortrain::data
