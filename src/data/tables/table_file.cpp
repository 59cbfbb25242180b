#include "data/tables/table_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/utf8.h"
#include "data/files/file_list.h"
#include "data/files/file_stamps.h"
#include "data/files/input.h"
#include "data/files/parquet_input.h"

namespace mirrortrain::data {
namespace {

constexpr std::size_t kTextBlock = std::size_t{1} << 20;

/// A file of which all bytes are in memory, or few of them.
struct Beginning {
  std::string text;
  bool is_whole = false;
};

Beginning read_beginning(const PositionedFile& file, std::uint64_t bytes) {
  Beginning beginning;
  beginning.text.resize(static_cast<std::size_t>(std::min(bytes, file.size())));
  file.read(0, std::as_writable_bytes(std::span(beginning.text)));
  beginning.is_whole = beginning.text.size() == file.size();
  return beginning;
}

/// The bytes of so many whole rows; 0 if the text has fewer.
std::size_t bytes_of_rows(std::string_view text, std::size_t rows, const Csv& options) {
  if (!CsvFile::knows_delimiter(text, options)) return 0;
  CsvText at(text, CsvFile::likely_delimiter(text, options));
  for (std::size_t i = 0; i < rows; ++i) {
    if (at.at_end() || !at.pass_row(at.position())) return 0;
  }
  const auto end = static_cast<std::size_t>(at.position() - text.data());
  return text[end - 1] == '\n' ? end : 0;
}

/// Calls take(some bytes) for all that a file is read as, inflated if it is compressed, until it returns false.
template <class Take>
void pass_bytes(Input& input, const Take& take) {
  std::vector<std::byte> block(kTextBlock);
  while (const std::size_t count = input.read(block)) {
    if (!take(std::span(block).first(count))) return;
  }
}

/// Whether carriage returns alone end lines, as in old files of Macs.
bool has_returns_alone(const std::string& path) {
  bool has_return = false, has_line = false;
  pass_bytes(*open_input(path), [&](std::span<const std::byte> some) {
    has_line = std::ranges::find(some, std::byte{'\n'}) != some.end();
    has_return = has_return || std::ranges::find(some, std::byte{'\r'}) != some.end();
    return !has_line;
  });
  return has_return && !has_line;
}

/// What `input` gives, kept in `cache` for this file, with line ends in the place of carriage returns if `has_returns`.
void unpack(TableFile& file, const UnpackedFiles& cache, const std::string& as, bool has_returns,
            const std::function<std::unique_ptr<Input>()>& open) {
  FileStamps stamps;
  stamps.add(file.path);
  const std::uint64_t least = PlainFile(file.path).size();
  file.unpacked =
      cache.find_or_write(stamps.text() + as, file.path, {least, false}, [&](const UnpackedFiles::Put& put) {
        std::vector<std::byte> lines;
        pass_bytes(*open(), [&](std::span<const std::byte> some) {
          lines.assign(some.begin(), some.end());
          if (has_returns) std::ranges::replace(lines, std::byte{'\r'}, std::byte{'\n'});
          put(lines);
          return true;
        });
      });
}

}  // namespace

std::shared_ptr<CsvFile> beginning_of(const TableFile& file, const Csv& options,
                                      const std::vector<std::string>* known) {
  constexpr std::size_t kRows = 1002;
  const Csv made = options_of_made_lines(options);
  constexpr std::uint64_t kMost = std::uint64_t{64} << 20;
  for (std::uint64_t bytes = kTextBlock;; bytes *= 2) {
    Beginning beginning = read_beginning(*file.file, bytes);
    std::size_t end = beginning.text.size();
    if (!beginning.is_whole) {
      const std::size_t mark = end - without_byte_order_mark(beginning.text).size();
      const Csv& of_text = file.form.is_of_lines ? options : made;
      const std::size_t rows = bytes_of_rows(std::string_view(beginning.text).substr(mark), kRows, of_text);
      if (rows == 0 && bytes < kMost) continue;
      if (rows > 0) end = mark + rows;
    }
    return std::make_shared<CsvFile>(file.path, std::string_view(beginning.text).substr(0, end), options, known,
                                     file.form);
  }
}

void open_at_places(TableFile& file, const UnpackedFiles& cache) {
  if (is_parquet_file(file.path)) {
    file.form = form_of(file.path);
    unpack(file, cache, " cells of parquet", false,
           [&] { return std::make_unique<ParquetInput>(file.path, std::nullopt); });
  } else {
    const bool is_plain = open_input(file.path)->offset().has_value(), has_returns = has_returns_alone(file.path);
    if (!is_plain || has_returns) {
      unpack(file, cache, has_returns ? " table of lines" : " table", has_returns,
             [&] { return open_input(file.path); });
    }
  }
  file.file = std::make_shared<PositionedFile>(file.unpacked ? file.unpacked->path() : file.path);
}

bool exceeds_in_memory(const Csv& options, std::uint64_t bytes) {
  constexpr double kOfByte = 4;  // the text, its cells as numbers of 8 bytes, and what they are encoded as
  std::vector<std::string> remarks;
  double found = 0;
  const auto is_more = [&] { return found * kOfByte > static_cast<double>(bytes); };
  for (const std::string& path : expanded(options.file, remarks)) {
    const std::unique_ptr<Input> input = open_input(path);
    if (is_parquet_file(path)) {
      found += ParquetInput(path, std::nullopt).cell_bytes();
    } else if (!input->is_compressed()) {
      found += static_cast<double>(input->most_bytes());
    } else {
      pass_bytes(*input, [&](std::span<const std::byte> some) {
        found += static_cast<double>(some.size());
        return !is_more();
      });
    }
    if (is_more()) return true;
  }
  return false;
}

}  // namespace mirrortrain::data
