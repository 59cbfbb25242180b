#include "data/tables/stored_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/files.h"

namespace mirrortrain::data {
namespace {

struct OfNumbers {
  bool operator()(const ColumnUse& use) const {
    return use.kind == ColumnUse::Kind::kNumber || use.kind == ColumnUse::Kind::kWord ||
           use.kind == ColumnUse::Kind::kCrossed;
  }
};
/// Of an input's texts or pictures, or an output's labels.
struct OfPlace {
  ColumnUse::Kind kind;
  std::size_t place;
  bool operator()(const ColumnUse& use) const { return use.kind == kind && use.place == place; }
};

/// The numbers and words of all columns of these.
class StoredCells : public StoredRows {
 public:
  explicit StoredCells(std::shared_ptr<const HeldTable> table) : parsers_(std::move(table), {}) {}
  std::int64_t rows() const override { return parsers_.table().rows(); }
  void will_read(std::int64_t first, std::int64_t count) const override { parsers_.table().will_read(first, count); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    parsers_.with_one([&](RowParser& parser) {
      auto* numbers = reinterpret_cast<double*>(to);
      const std::size_t width = parsers_.table().columns.features.size();
      parser.read(
          first, count, [&] { parser.cells().set_features(std::exchange(numbers, numbers + width)); }, [] {});
    });
  }
  std::string identity() const override { return parsers_.table().identity + " cells"; }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  RowParsers<OfNumbers> parsers_;
};

/// The tokens of an input's texts.
class StoredTokens : public StoredRows {
 public:
  StoredTokens(std::shared_ptr<const HeldTable> table, std::size_t input, DType dtype)
      : parsers_(std::move(table), {ColumnUse::Kind::kText, input}), input_(input), dtype_(dtype) {}
  std::int64_t rows() const override { return parsers_.table().rows(); }
  void will_read(std::int64_t first, std::int64_t count) const override { parsers_.table().will_read(first, count); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    parsers_.with_one([&](RowParser& parser) {
      parser.read(
          first, count, [] {},
          [&] {
            for (const std::int32_t token : parser.cells().texts(input_)->tokens()) {
              if (dtype_ == DType::kUint8) {
                *to++ = static_cast<std::byte>(token);
              } else {
                std::memcpy(to, &token, sizeof token);
                to += sizeof token;
              }
            }
          });
    });
  }
  std::string identity() const override {
    const auto& texts = std::get<TableInput::Texts>(parsers_.table().columns.inputs[input_].content);
    std::string vocabulary;
    for (const std::string& token : texts.vocabulary) vocabulary += token + '\n';
    return fmt::format("{} tokens {} {} {:08x}", parsers_.table().identity, texts.column, texts.length,
                       crc32_of(std::as_bytes(std::span(vocabulary))));
  }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  RowParsers<OfPlace> parsers_;
  std::size_t input_;
  DType dtype_;
};

/// The labels of an output that are not held.
class StoredLabels : public StoredRows {
 public:
  StoredLabels(std::shared_ptr<const HeldTable> table, std::size_t output)
      : parsers_(std::move(table), {ColumnUse::Kind::kLabel, output}),
        output_(output),
        are_words_(parsers_.table().words->kinds[output] == LabelCells::Kind::kWords) {}
  std::int64_t rows() const override { return parsers_.table().rows(); }
  void will_read(std::int64_t first, std::int64_t count) const override { parsers_.table().will_read(first, count); }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const override {
    parsers_.with_one([&](RowParser& parser) {
      RowCells::Output& own = parser.cells().outputs()[output_];
      own.label = reinterpret_cast<double*>(to);
      std::uint8_t present = 1;
      own.present = &present;
      parser.read(
          first, count, [] {},
          [&] {
            if (present == 0 && are_words_) std::fill_n(own.label, own.width, std::numeric_limits<double>::quiet_NaN());
            own.label += own.width;
          });
      own.present = nullptr;
    });
  }
  std::string identity() const override { return fmt::format("{} labels {}", parsers_.table().identity, output_); }
  std::shared_ptr<const StoredRows> by_position(const UnpackedFiles&) const override { return nullptr; }

 private:
  RowParsers<OfPlace> parsers_;
  std::size_t output_;
  bool are_words_;
};

class StoredPicturePaths : public StoredPaths {
 public:
  StoredPicturePaths(std::shared_ptr<const HeldTable> table, std::size_t input)
      : parsers_(std::move(table), {ColumnUse::Kind::kPicture, input}), input_(input) {}
  std::string path(std::int64_t row) const override {
    std::string path;
    parsers_.with_one([&](RowParser& parser) {
      parser.read(
          row, 1, [] {}, [&] { path = parser.cells().picture(input_); });
    });
    return path;
  }

 private:
  RowParsers<OfPlace> parsers_;
  std::size_t input_;
};

}  // namespace

std::shared_ptr<const StoredRows> stored_cells(std::shared_ptr<const HeldTable> table) {
  return std::make_shared<StoredCells>(std::move(table));
}

std::shared_ptr<const StoredRows> stored_tokens(std::shared_ptr<const HeldTable> table, std::size_t input,
                                                DType dtype) {
  return std::make_shared<StoredTokens>(std::move(table), input, dtype);
}

std::shared_ptr<const StoredRows> stored_labels(std::shared_ptr<const HeldTable> table, std::size_t output) {
  return std::make_shared<StoredLabels>(std::move(table), output);
}

std::shared_ptr<const StoredPaths> stored_paths(std::shared_ptr<const HeldTable> table, std::size_t input) {
  return std::make_shared<StoredPicturePaths>(std::move(table), input);
}

}  // namespace mirrortrain::data
