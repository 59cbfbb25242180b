// What the columns of a table are taken for by `init`.
#include "data/first_look/column_kinds.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <functional>

#include "data/files.h"
#include "data/first_look/look_at_data.h"

namespace mirrortrain::data {
namespace {

namespace fs = std::filesystem;

struct Fixture {
  TemporaryFolder folder;

  Fixture() {
    for (const char* name : {"a.png", "b.PNG", "c.jpg"}) {
      fs::copy_file(fs::path(MIRRORTRAIN_SOURCE_DIR) / "tests/pictures/rgb.png", folder.path(name));
    }
  }

  /// A table with a column of these cells, one of numbers and the label.
  std::string table(const std::string& name, int rows, const std::function<std::string(int row)>& cell) const {
    std::string text = name + ",size,label\n";
    for (int row = 0; row < rows; ++row) {
      text += fmt::format("\"{}\",{}.5,{}\n", cell(row), row * 7 % 13, row % 2 == 0 ? "yes" : "no");
    }
    return folder.write("t.csv", text);
  }
  ColumnLook look(const std::string& name, int rows, const std::function<std::string(int row)>& cell) const {
    Csv csv;
    std::vector<std::string> remarks;
    const std::string path = table(name, rows, cell);
    csv.file = config::Path{path};
    const Table read = table_columns(path, csv, remarks);
    return look_at_column(read.columns[0], read.columns.size(), csv, fs::path(path).parent_path());
  }
};

std::string sentence(int row) { return fmt::format("the {} boxes came on a {} day", row, row * 3); }

TEST_CASE_FIXTURE(Fixture, "words are ids if there are many and they repeat") {
  const auto item = [](int row) { return fmt::format("item {}", row % 30); };
  const ColumnLook ids = look("item", 120, item);
  CHECK(ids.kind == ColumnKind::kIds);
  CHECK(ids.why == "30 different words in 120 rows: ids, as an embedding");
  CHECK(look("anything", 60, item).kind == ColumnKind::kIds);
  const auto rare = [](int row) { return row % 10 == 0 ? fmt::format("rare {}", row) : "usual"; };
  CHECK(look("item", 300, rare).kind == ColumnKind::kNone);
  const auto few = [&](int row) { return row % 3 == 0 ? item(row / 3) : ""; };  // the others are missing
  CHECK(look("item", 150, few).kind == ColumnKind::kNone);
  CHECK(look("item", 300, few).kind == ColumnKind::kIds);
  CHECK(look("item", 58, item).kind == ColumnKind::kNone);  // fewer than two rows of each
  CHECK(look("item", 120, [](int row) { return fmt::format("item {}", row % 20); }).kind == ColumnKind::kValues);
  const ColumnLook names = look("item", 120, [](int row) { return fmt::format("item {}", row); });
  CHECK(names.kind == ColumnKind::kNone);
  CHECK(names.why == "it has more than 20 different words");
}

TEST_CASE_FIXTURE(Fixture, "dates that repeat are no ids, unless their column's name says so") {
  const auto date = [](int row) { return fmt::format("2024-01-{:02}", row % 28 + 1); };
  CHECK(look("day", 120, date).kind == ColumnKind::kNone);
  CHECK(look("day_id", 120, date).kind == ColumnKind::kIds);
}

TEST_CASE_FIXTURE(Fixture, "whole numbers are ids if their column's name says so") {
  const auto number = [](int row) { return fmt::format("{}", 1000 + row * 17 % 40); };
  for (const char* name : {"user_id", "userId", "UserID", "User ID", "id", "ID_user", "user", "movieid", "zip",
                           "product code", "customer-id"}) {
    CHECK_MESSAGE(look(name, 2000, number).kind == ColumnKind::kIds, name);
  }
  for (const char* name : {"age", "year", "paid", "humid", "user_age", "idle", "price", "item_count", "video"}) {
    CHECK_MESSAGE(look(name, 2000, number).kind == ColumnKind::kValues, name);
  }
  CHECK(look("user_id", 2000, number).why == "40 different whole numbers in 2,000 rows: ids, as an embedding");
  CHECK(look("user_id", 2000, [](int row) { return fmt::format("{}", row % 20); }).kind == ColumnKind::kValues);
  CHECK(look("user_id", 2000, [](int row) { return fmt::format("{}.5", row % 40); }).kind == ColumnKind::kValues);
}

TEST_CASE_FIXTURE(Fixture, "ids that hardly repeat are left out with the reason") {
  const auto far_apart = [](int row) { return fmt::format("{}", row * 1'000'003); };
  const ColumnLook names = look("order_id", 50, far_apart);
  CHECK(names.kind == ColumnKind::kNone);
  CHECK(names.why == "it names the rows");
  CHECK(look("order_id", 50, [](int row) { return fmt::format("{}", row); }).why == "it numbers the rows");
  const ColumnLook rare = look("order_id", 50, [&](int row) { return far_apart(row % 40); });
  CHECK(rare.kind == ColumnKind::kNone);
  CHECK(rare.why == "40 different ids in 50 rows, too many to learn each");
  CHECK(look("amount", 50, far_apart).kind == ColumnKind::kValues);
}

TEST_CASE_FIXTURE(Fixture, "sentences are texts if most are different") {
  const ColumnLook texts = look("review", 40, sentence);
  CHECK(texts.kind == ColumnKind::kTexts);
  CHECK(texts.why == "40 different texts in 40 rows, read as bytes");
  CHECK(look("review", 40, [](int row) { return fmt::format("Mr. Smith {}", row); }).kind == ColumnKind::kNone);
  CHECK(look("review", 90, [](int row) { return sentence(row % 30); }).kind == ColumnKind::kIds);
  CHECK(look("review", 20, sentence).kind == ColumnKind::kValues);
}

TEST_CASE_FIXTURE(Fixture, "the length of texts is what 95 of 100 fit in") {
  TableColumn column;
  for (int i = 0; i < 100; ++i) column.words[std::string(10, 'a') + fmt::format("{:03}", i)].count = 1;
  CHECK(text_length(column) == 16);
  for (int i = 0; i < 4; ++i) column.words[std::string(900, 'a' + i)].count = 1;
  CHECK(text_length(column) == 16);
  for (int i = 0; i < 100; ++i) column.words[std::string(100, 'b') + fmt::format("{:03}", i)].count = 1;
  CHECK(text_length(column) == 112);
  for (int i = 0; i < 100; ++i) column.words[std::string(900, 'c') + fmt::format("{:03}", i)].count = 1;
  CHECK(text_length(column) == 512);
}

TEST_CASE_FIXTURE(Fixture, "paths are pictures if most of them exist, and what names none is said") {
  const auto path = [](int row) { return std::vector<std::string>{"a.png", "b.PNG", "c.jpg"}[row % 3]; };
  const ColumnLook pictures = look("photo", 30, path);
  CHECK(pictures.kind == ColumnKind::kPictures);
  CHECK(pictures.why == "the paths of 3 pictures, through convolutions");
  CHECK(pictures.files.size() == 3);
  CHECK(pictures.without_picture == 0);
  const ColumnLook gaps = look("photo", 30, [&](int row) { return row == 7 ? "gone.png" : row == 8 ? "" : path(row); });
  CHECK(gaps.kind == ColumnKind::kPictures);
  CHECK(gaps.without_picture == 2);
  CHECK(look("photo", 30, [](int row) { return fmt::format("{}.png", row % 4); }).kind == ColumnKind::kValues);
  const ColumnLook gone = look("photo", 90, [](int row) { return fmt::format("{}.png", row % 30); });
  CHECK(gone.kind == ColumnKind::kNone);
  CHECK(gone.why == "most of the pictures that it names are not below the table's folder");
}

TEST_CASE_FIXTURE(Fixture, "a table's inputs have the shapes and numbers of their examples") {
  const DataLook ids =
      look_at_data({table("user_id", 90, [](int row) { return fmt::format("{}", 7 * (row % 30)); }), {}, {}});
  REQUIRE(ids.inputs.size() == 2);
  CHECK(ids.inputs[0].name == "user_id");
  CHECK(ids.inputs[0].shape == Shape{});
  CHECK(ids.inputs[0].numbers_below == 31);  // and all others
  CHECK_FALSE(ids.inputs[0].is_normalized);
  CHECK(ids.inputs[1].name == "features");
  CHECK(ids.inputs[1].shape == Shape{1});
  CHECK(ids.inputs[1].numbers_below == 0);
  CHECK(ids.inputs[1].is_normalized);
  const DataLook texts = look_at_data({table("review", 90, sentence), {}, {}});
  REQUIRE(texts.inputs.size() == 2);
  CHECK(texts.inputs[0].shape == Shape{32});
  CHECK(texts.inputs[0].numbers_below == 256);
  const DataLook pictures = look_at_data({table("photo", 90, [](int) { return "a.png"; }), {}, {}});
  REQUIRE(pictures.inputs.size() == 1);  // the same picture in every row
  CHECK(pictures.inputs[0].name.empty());
  CHECK(pictures.inputs[0].shape == Shape{1});
  const DataLook two =
      look_at_data({table("photo", 90, [](int row) { return row % 3 == 0 ? "a.png" : "c.jpg"; }), {}, {}});
  REQUIRE(two.inputs.size() == 2);
  CHECK(two.inputs[0].shape.rank() == 3);
  CHECK(two.inputs[0].scale == doctest::Approx(1.0 / 255));
}

}  // namespace
}  // namespace mirrortrain::data
