#include "data/files/parquet_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/csv_cell.h"
#include "base/error.h"
#include "base/json.h"
#include "base/loaded_module.h"
#include "base/utf8.h"
#include "data/files/parquet_module.h"

namespace mirrortrain::data {
namespace {

constexpr std::string_view kParquetMagic = "PAR1",
                           kEncryptedMagic = "PARE";  // of a file whose columns are encrypted too

struct ParquetModule {
  LoadedModule module{"libmirrortrain_parquet.so"};
  decltype(&mirrortrain_open_parquet) open =
      module.find<decltype(mirrortrain_open_parquet)>("mirrortrain_open_parquet");
  decltype(&mirrortrain_read_parquet) read =
      module.find<decltype(mirrortrain_read_parquet)>("mirrortrain_read_parquet");
  decltype(&mirrortrain_close_parquet) close =
      module.find<decltype(mirrortrain_close_parquet)>("mirrortrain_close_parquet");
};

const ParquetModule& parquet_module(const std::string& file) {
  static const ParquetModule loaded;
  if (loaded.module.error().empty()) return loaded;
  throw Error(
      fmt::format("{}: this program cannot read Parquet, as its module {} cannot be loaded ({}); build it where "
                  "Arrow's C++ library "
                  "is found, the system's or pip's pyarrow, or save the table as CSV",
                  file, loaded.module.file(), loaded.module.error()));
}

/// What a call of the module gave.
struct Given {
  std::string bytes, error;
  ParquetTaker taker() {
    return {this,
            [](void* to, const char* some, std::size_t size) { static_cast<Given*>(to)->bytes.append(some, size); },
            [](void* to, const char* reason) { static_cast<Given*>(to)->error = reason; }};
  }
};

/// The first bytes of a file, one more than the magic has, and its last; empty if it cannot be read, which reading it
/// reports.
struct FileEnds {
  std::string first, last;
};

FileEnds ends_of_file(const std::string& path) {
  const auto read = [](const PlainFile& file, std::uint64_t from, std::size_t most) {
    std::string bytes(most, '\0');
    bytes.resize(file.read_at(from, std::as_writable_bytes(std::span(bytes))));
    return bytes;
  };
  try {
    const PlainFile file(path);
    const std::size_t size = kParquetMagic.size();
    return {read(file, 0, size + 1), file.size() < size ? "" : read(file, file.size() - size, size)};
  } catch (const Error&) {
    return {};
  }
}

bool is_of_text(char c) { return static_cast<unsigned char>(c) >= ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

/// The first column of a table in text may be named "PAR1", too.
bool is_parquet(std::string_view beginning) {
  return beginning.starts_with(kParquetMagic) &&
         (beginning.size() == kParquetMagic.size() || !is_of_text(beginning[kParquetMagic.size()]));
}

bool is_parquet_file(const std::string& path) {
  const FileEnds ends = ends_of_file(path);
  return is_parquet(ends.first) ||
         ((ends.last == kParquetMagic || ends.last == kEncryptedMagic) && ends.first.starts_with(ends.last));
}

ParquetInput::ParquetInput(const std::string& path, const std::optional<std::set<std::string>>& wanted)
    : Input(path), is_encrypted_(ends_of_file(path).last == kEncryptedMagic) {
  Given columns;
  parquet_ = parquet_module(path).open(path.c_str(), columns.taker());
  if (parquet_ == nullptr) fail(columns.error);
  try {
    read_header(columns.bytes);
  } catch (...) {
    parquet_module(path).close(parquet_);
    throw;
  }
  for (const Column& column : columns_) wanted_.push_back(!wanted || wanted->contains(column.name) ? 1 : 0);
}

ParquetInput::~ParquetInput() { parquet_module(name()).close(parquet_); }

void ParquetInput::fail(const std::string& reason) const {
  throw Error(fmt::format("{}: this Parquet file cannot be read: {}; {}", name(), shortened(reason, 300),
                          is_encrypted_ ? "it is encrypted, so save it once more without encryption"
                                        : "get the file again or save it once more"));
}

void ParquetInput::read_header(const std::string& columns) {
  const auto about = parse_json<nlohmann::json>(columns);
  is_encrypted_ = is_encrypted_ || about.at("encrypted").get<bool>();
  for (const auto& column : about.at("columns")) {
    columns_.push_back({column.at("name"), column.at("why")});
    if (columns_.size() > 1) text_ += ',';
    append_quoted_cell(columns_.back().name, text_);
  }
  text_ += '\n';
  const auto cells = about.at("rows").get<double>() * static_cast<double>(columns_.size());
  cell_bytes_ = 8 * cells + about.at("bytes").get<double>();
  if (columns_.empty()) fail("it has no columns");
}

std::size_t ParquetInput::read(std::span<std::byte> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    if (taken_ == text_.size()) {
      Given lines;
      const bool has_lines = parquet_module(name()).read(parquet_, wanted_.data(), lines.taker());
      if (!lines.error.empty()) fail(lines.error);
      if (!has_lines) break;
      text_ = std::move(lines.bytes);
      taken_ = 0;
    }
    const std::size_t count = std::min(to.size() - done, text_.size() - taken_);
    std::memcpy(to.data() + done, text_.data() + taken_, count);
    taken_ += count;
    done += count;
  }
  return done;
}

std::uint64_t ParquetInput::most_bytes() const { return std::numeric_limits<std::uint64_t>::max(); }

}  // namespace mirrortrain::data
