#include "data/tables/row_finder.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/files.h"
#include "data/tables/csv_text.h"

namespace mirrortrain::data {
namespace {

struct FoundRows {
  std::vector<std::uint64_t> offsets;
  std::vector<std::int64_t> lines;
};

FoundRows rows_by_parsing(const std::string& text) {
  FoundRows rows;
  CsvText at(text);
  while (!at.at_end()) {
    rows.offsets.push_back(static_cast<std::uint64_t>(at.position() - text.data()));
    rows.lines.push_back(at.line(at.position()));
    at.pass_row(at.position());
  }
  return rows;
}

/// Finds all rows in blocks of this many bytes, and checks what blocks say of them. `headers`: that occur again.
std::vector<std::uint64_t> find_rows(const std::string& text, std::size_t block, int threads,
                                     const std::string& header = "", std::int64_t headers = 0) {
  const TemporaryFolder folder;
  RowFinder finder(std::make_shared<PositionedFile>(folder.write("rows.csv", text)),
                   {.header = header, .threads = threads, .block_bytes = block});
  std::vector<std::uint64_t> offsets;
  const FoundRows expected = rows_by_parsing(text);
  std::int64_t rows = 0;
  std::uint64_t end = 0;
  for (auto blocks = finder.next(offsets); !blocks.empty(); blocks = finder.next(offsets)) {
    for (const RowBlock& one : blocks) {
      CHECK(one.first == rows);
      CHECK(one.begin == offsets[static_cast<std::size_t>(rows)]);
      CHECK(one.begin >= end);
      if (header.empty()) CHECK(one.line == expected.lines[static_cast<std::size_t>(rows)]);
      rows += one.rows;
      end = one.end;
      if (static_cast<std::size_t>(rows) < offsets.size()) CHECK(end == offsets[static_cast<std::size_t>(rows)]);
    }
  }
  CHECK(rows == finder.rows());
  CHECK(rows == static_cast<std::int64_t>(offsets.size()));
  CHECK(finder.next(offsets).empty());
  CHECK(finder.repeated_headers() == headers);
  return offsets;
}

TEST_CASE("rows are found where parsing finds them, whatever the blocks") {
  std::string random;
  std::uint32_t state = 1;
  for (int i = 0; i < 4000; ++i) {
    state = state * 1664525 + 1013904223;
    random += R"(ab,1 "",";\n )"[state >> 28 & 15 ? (state >> 24) % 12 : 0] == 'n'
                  ? '\n'
                  : "ab,1 \"\n\r\t,,x\""[(state >> 20) % 14];
  }
  const std::vector<std::string> texts = {
      "1,2\n3,4\n",
      "1,2\n3,4",
      "\n\n 1,2\r\n\r\n3,4\r\n   \n\n5,6\n\n",
      "\"a\nb\",1\n2,\"c\n\n\n\nd\"\n\"\"\"\n\",5\n",
      "a\"b,1\nx,\"y\n\"\n1\" 2,3\n",
      std::string(50, '\n') + "1\n" + std::string(5000, ' ') + "\n2\n",
      "1,\"" + std::string(3000, '\n') + "\",2\n" + std::string(3000, 'x') + "\n3\n",
      "1,\"never closed\n2\n3\n",
      random,
      random + "\n" + random + "\n1,2,3\n" + random};
  for (const std::string& text : texts) {
    CAPTURE(text.substr(0, 60));
    const std::vector<std::uint64_t> expected = rows_by_parsing(text).offsets;
    for (const std::size_t block : {1, 2, 3, 5, 7, 64, 1000, 1 << 20}) {
      if (block < 64 && text.size() > 20000) continue;
      for (const int threads : {1, 3}) {
        CAPTURE(block);
        CHECK(find_rows(text, block, threads) == expected);
      }
    }
  }
}

TEST_CASE("headers that occur again are no rows") {
  const std::string text = "1,2\na,b\n3,4\n\na,b\r\na,bc\n\"a,b\n\",x\na,b";
  for (const std::size_t block : {1, 2, 5, 11, 1000}) {
    const std::vector<std::uint64_t> rows = find_rows(text, block, 2, "a,b", 3);
    CHECK(rows == std::vector<std::uint64_t>{0, 8, 18, 23});
  }
}

TEST_CASE("headers that occur again are counted once, also before a block with quotes") {
  const std::string text = "1,2\n3,4\na,b\na,b\n\"5\",6\n\na,b\n7,8\n";
  for (std::size_t block = 1; block < 50; ++block) {
    CAPTURE(block);
    for (const int threads : {1, 3}) {
      CHECK(find_rows(text, block, threads, "a,b", 3) == std::vector<std::uint64_t>{0, 4, 16, 27});
    }
  }
}

}  // namespace
}  // namespace mirrortrain::data
