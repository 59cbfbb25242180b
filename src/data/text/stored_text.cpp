#include "data/text/stored_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "data/files/file_stamps.h"
#include "data/files/input.h"
#include "data/files/positioned_file.h"
#include "data/text/vocabulary.h"

namespace mirrortrain::data {
namespace {

constexpr std::size_t kTextPiece = std::size_t{1} << 20;

/// Tokens one after the other in a file.
struct TokenFile {
  std::shared_ptr<const UnpackedFile> unpacked{};  ///< the file, if it is one of these
  std::shared_ptr<const PositionedFile> file{};
  std::uint64_t offset = 0;  ///< of the first token
  std::int64_t tokens = 0;
  std::size_t token_bytes = 1;
  std::string identity{};
};

/// Windows of tokens that begin at every so many.
class WindowRows : public StoredRows {
 public:
  WindowRows(TokenFile tokens, std::int64_t first, std::int64_t rows, std::int64_t window, std::int64_t stride)
      : tokens_(std::move(tokens)),
        first_(first),
        rows_(rows),
        stride_(static_cast<std::size_t>(stride) * tokens_.token_bytes),
        window_(static_cast<std::size_t>(window) * tokens_.token_bytes) {}

  std::int64_t rows() const override { return rows_; }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    const std::uint64_t begin = tokens_.offset + static_cast<std::uint64_t>(first_) * tokens_.token_bytes +
                                static_cast<std::uint64_t>(first) * stride_;
    const auto windows = static_cast<std::size_t>(count);
    if (stride_ == window_) return tokens_.file->read(begin, {to, windows * window_});
    if (stride_ > window_ || windows == 1) {
      for (std::size_t i = 0; i < windows; ++i) tokens_.file->read(begin + i * stride_, {to + i * window_, window_});
      return;
    }
    thread_local std::vector<std::byte> overlapping;
    overlapping.resize((windows - 1) * stride_ + window_);
    tokens_.file->read(begin, overlapping);
    for (std::size_t i = 0; i < windows; ++i) std::memcpy(to + i * window_, overlapping.data() + i * stride_, window_);
  }
  std::string identity() const override {
    return fmt::format("{} {} {} {}", tokens_.identity, first_, window_, stride_);
  }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  TokenFile tokens_;
  std::int64_t first_, rows_;
  std::size_t stride_, window_;  // in bytes
};

std::string identity_of(std::initializer_list<std::string> paths, const char* what) {
  FileStamps stamps;
  for (const std::string& path : paths) stamps.add(path);
  return fmt::format("{} {}", stamps.text(), what);
}

/// Calls take(some text) for all of a file's but its byte order mark. Returns the number of bytes.
template <class Take>
std::uint64_t pass_text(const std::string& path, const Take& take) {
  const std::unique_ptr<Input> input = open_input(path);
  std::vector<std::byte> piece(kTextPiece);
  std::uint64_t bytes = 0;
  for (bool is_first = true;; is_first = false) {
    const std::size_t count = input->read(piece);
    std::string_view text(reinterpret_cast<const char*>(piece.data()), count);
    if (is_first) text = without_byte_order_mark(text);
    take(text);
    bytes += text.size();
    if (count < piece.size()) return bytes;
  }
}

bool is_plain(const std::string& path) { return open_input(path)->offset().has_value(); }

/// Of bytes.
TokenFile bytes_of_text(const std::string& path, const UnpackedFiles& cache) {
  TokenFile tokens;
  tokens.identity = identity_of({path}, "text");
  std::string at = path;
  if (is_plain(path)) {
    std::array<char, 3> start{};
    const std::size_t count = PlainFile(path).read_at(0, std::as_writable_bytes(std::span(start)));
    tokens.offset = count - without_byte_order_mark({start.data(), count}).size();
  } else {
    const std::uint64_t least = PlainFile(path).size();
    tokens.unpacked = cache.find_or_write(tokens.identity, path, {least, false}, [&](const UnpackedFiles::Put& put) {
      pass_text(path, [&](std::string_view text) { put(std::as_bytes(std::span(text))); });
    });
    at = tokens.unpacked->path();
  }
  tokens.file = std::make_shared<PositionedFile>(at);
  tokens.tokens = static_cast<std::int64_t>(tokens.file->size() - tokens.offset);
  return tokens;
}

/// Gives take(numbers) the tokens of a text that comes in pieces, as Vocabulary::encode finds them in the whole.
class PiecewiseEncoder {
 public:
  explicit PiecewiseEncoder(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    for (const std::string& token : vocabulary.tokens()) longest_ = std::max(longest_, token.size());
  }

  /// Returns false where no token matches.
  template <class Take>
  bool add(std::string_view text, const Take& take) {
    left_ += text;
    return encode(longest_, take);
  }
  template <class Take>
  bool finish(const Take& take) {
    return encode(0, take);
  }

 private:
  /// All tokens that begin with at least `behind` bytes behind their longest possible end.
  template <class Take>
  bool encode(std::size_t behind, const Take& take) {
    std::size_t at = 0;
    numbers_.clear();
    while (at < left_.size() && left_.size() - at >= 2 * behind) {
      // So many tokens do not come near the end, whatever their length.
      const std::size_t most = behind == 0 ? left_.size() : (left_.size() - at - behind) / longest_;
      const std::size_t before = numbers_.size();
      at += vocabulary_.encode(std::string_view(left_).substr(at), most, numbers_);
      if (numbers_.size() - before < most && at < left_.size()) return false;
    }
    left_.erase(0, at);
    take(std::span<const std::int32_t>(numbers_));
    return true;
  }

  const Vocabulary& vocabulary_;
  std::size_t longest_ = 1;
  std::string left_;
  std::vector<std::int32_t> numbers_;
};

/// Of a vocabulary's tokens, as their numbers.
TokenFile tokens_of_text(const std::string& path, const Vocabulary& vocabulary, const UnpackedFiles& cache) {
  TokenFile tokens;
  tokens.identity = identity_of({path, vocabulary.name()}, "tokens");
  tokens.token_bytes = vocabulary.size() <= 256 ? 1 : sizeof(std::int32_t);
  const auto write = [&](const UnpackedFiles::Put& put) {
    PiecewiseEncoder encoder(vocabulary);
    std::vector<std::uint8_t> narrow;
    const auto take = [&](std::span<const std::int32_t> numbers) {
      if (tokens.token_bytes > 1) return put(std::as_bytes(numbers));
      narrow.assign(numbers.begin(), numbers.end());
      put(std::as_bytes(std::span(narrow)));
    };
    bool matches = true;
    pass_text(path, [&](std::string_view text) { matches = matches && encoder.add(text, take); });
    if (matches && encoder.finish(take)) return;
    // Which says where.
    const std::string text = read_text(*open_input(path));
    static_cast<void>(vocabulary.encode(without_byte_order_mark(text), path));
    throw Error(fmt::format("{}: it was changed while it was read", path));
  };
  tokens.unpacked = cache.find_or_write(tokens.identity, path, {0, false}, write);
  tokens.file = std::make_shared<PositionedFile>(tokens.unpacked->path());
  tokens.tokens = static_cast<std::int64_t>(tokens.file->size() / tokens.token_bytes);
  return tokens;
}

Array windows_array(const TokenFile& tokens, std::int64_t first, std::int64_t rows, const Text& source,
                    const std::string& path) {
  Array array;
  array.dtype = tokens.token_bytes == 1 ? DType::kUint8 : DType::kInt32;
  array.shape = Shape{rows, source.window};
  array.origin = path;
  array.stored =
      std::make_shared<WindowRows>(tokens, first, rows, source.window, source.stride.value_or(source.window));
  return array;
}

}  // namespace

std::uint64_t most_bytes_of_windows(const Text& source) {
  std::vector<std::string> remarks;
  std::uint64_t bytes = 0;
  for (const std::string& path : expanded(source.files, remarks)) {
    bytes += is_plain(path) ? PlainFile(path).size() : pass_text(path, [](std::string_view) {});
  }
  const double of_token = source.vocabulary ? sizeof(std::int32_t) : 1;
  const double windows = static_cast<double>(source.window) /
                         static_cast<double>(std::min(source.stride.value_or(source.window), source.window));
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * of_token * windows * 2);  // and the labels
}

TokenWindows open_windows(const Text& source, const UnpackedFiles& cache) {
  std::vector<std::string> remarks;
  std::optional<Vocabulary> vocabulary;
  if (source.vocabulary) vocabulary = Vocabulary::read(source.vocabulary->text);
  std::vector<Array> features, labels;
  for (const std::string& path : expanded(source.files, remarks)) {
    const TokenFile tokens = vocabulary ? tokens_of_text(path, *vocabulary, cache) : bytes_of_text(path, cache);
    const std::int64_t rows = windows_in(tokens.tokens, source, path);
    features.push_back(windows_array(tokens, 0, rows, source, path));
    labels.push_back(windows_array(tokens, 1, rows, source, path));
  }
  TokenWindows windows{examples_of(joined(std::move(features)), joined(std::move(labels))), {}};
  Array& first = windows.examples.inputs.front().array;
  first.remarks.insert(first.remarks.end(), remarks.begin(), remarks.end());
  first.tokens = vocabulary ? vocabulary->size() : kByteTokens;
  if (vocabulary) windows.tokens = vocabulary->tokens();
  return windows;
}

}  // namespace mirrortrain::data
