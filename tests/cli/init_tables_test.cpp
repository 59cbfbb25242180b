// What init writes trains, whatever the table is like.
#include <doctest/doctest.h>

#include <random>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::init_tables_test {
namespace {

/// A column of a table that somebody may have.
using Cell = std::string (*)(std::mt19937& random, int row);

std::string one_of(std::mt19937& random, std::initializer_list<const char*> texts) {
  return texts.begin()[random() % texts.size()];
}

constexpr Cell kCells[] = {
    [](std::mt19937& random, int) { return fmt::format("{}", random() % 1000); },
    [](std::mt19937& random, int) { return fmt::format("{:.3f}", static_cast<double>(random() % 1000) / 37 - 9); },
    [](std::mt19937& random, int) { return random() % 5 == 0 ? std::string() : fmt::format("{}", random() % 50); },
    [](std::mt19937& random, int) {
      return random() % 4 == 0 ? one_of(random, {"?", "NA", "-", "nan"}) : "2.5";
    },
    [](std::mt19937& random, int) {
      return one_of(random, {"red", "green", "blue", "no, thanks", "\"quoted\"", "NA"});
    },
    [](std::mt19937&, int row) { return row % 13 == 0 ? fmt::format("rare {}", row / 13) : "usual"; },
    [](std::mt19937&, int row) { return fmt::format("name {}", row); },
    [](std::mt19937&, int) { return std::string(); },
    [](std::mt19937&, int row) { return fmt::format("{}", row); },
    [](std::mt19937&, int row) { return fmt::format("{}", (row * 7 + 3) % 101); },
    [](std::mt19937&, int) { return std::string("7"); },
    [](std::mt19937& random, int) { return fmt::format("{},{:03}", 1 + random() % 9, random() % 1000); },
    [](std::mt19937& random, int) { return fmt::format("{}%", random() % 100); },
    [](std::mt19937&, int row) { return fmt::format("2024-01-{:02}", row % 28 + 1); },
    [](std::mt19937&, int row) { return fmt::format("{}", 1700000000 + 60 * row); },
    [](std::mt19937& random, int) {
      return random() % 6 == 0 ? std::string() : one_of(random, {"a", "b"});
    },
    [](std::mt19937& random, int row) { return row < 3 ? fmt::format("{}", random() % 9) : std::string(); },
    [](std::mt19937& random, int) {
      return random() % 9 == 0 ? "12" : one_of(random, {"low", "high"});
    },
};

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

TEST_CASE("init makes a configuration that trains of every table") {
  std::mt19937 random(7);
  for (int number = 0; number < 40; ++number) {
    const int rows = std::initializer_list<int>{3, 6, 12, 40, 101}.begin()[random() % 5];
    const int columns = 1 + static_cast<int>(random() % 6);
    const bool has_header = random() % 4 != 0;
    std::vector<Cell> cells{kCells[0]};  // so that there is a feature
    for (int i = 1; i < columns; ++i) cells.push_back(kCells[random() % std::size(kCells)]);
    const int kind = static_cast<int>(random() % 5);
    std::string text;
    if (has_header) {
      for (int i = 0; i < columns; ++i)
        text += fmt::format("{},", i == 1 && random() % 3 == 0 ? "" : fmt::format("c{}", i));
      text += "label\n";
    }
    for (int row = 0; row < rows; ++row) {
      for (const Cell& cell : cells) text += quoted(cell(random, row)) + ",";
      const double value = 300 + 40 * std::sin(row);
      text += kind == 0   ? fmt::format("{}", row % 3)
              : kind == 1 ? one_of(random, {"yes", "no"})
              : kind == 2 ? fmt::format("{:.2f}", value)
              : kind == 3 ? std::string("same")
              : row == 2  ? std::string()
                          : fmt::format("{}", row % 2);
      text += "\n";
    }
    CAPTURE(text);
    const TemporaryFolder folder;
    write_file(folder / "t.csv", text);
    const Outcome made = run_program(folder, "init t.csv");
    CHECK_MESSAGE(made.exit_code == 0, made.err);
    if (made.exit_code != 0) continue;
    CAPTURE(made.out);
    write_file(folder / "c.yaml", made.out);
    const Outcome trained =
        run_program(folder, "fit c.yaml --run-dir run --set training.epochs=1 --set logging.report=false");
    CHECK_MESSAGE(trained.exit_code == 0, trained.err);
    const Outcome predicted = run_program(folder, "predict run --data t.csv");
    CHECK_MESSAGE(predicted.exit_code == 0, predicted.err);
  }
}

TEST_CASE("init's regression beats the mean of the labels") {
  std::mt19937 random(3);
  std::string rows = "a,b,c,price\n";
  for (int i = 0; i < 300; ++i) {
    const double a = random() % 100 * 0.1, b = random() % 100 * 0.01, c = random() % 50;
    rows += fmt::format("{:.2f},{:.3f},{},{:.1f}\n", a, b, c, 20000 + 900 * a - 5000 * b + 100 * c);
  }
  const TemporaryFolder folder;
  write_file(folder / "houses.csv", rows);
  write_file(folder / "c.yaml", run_program(folder, "init houses.csv").out);
  const Outcome trained = run_program(folder, "fit c.yaml --run-dir run");
  REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
  const auto evaluated = parsed(run_program(folder, "eval run --split validation --json -").out);
  CHECK(evaluated["metrics"]["mean_absolute_error"].get<double>() < 1000);  // the mean's is about 2,900
}

TEST_CASE("what is no table, or leaves no feature, is refused with the reason") {
  TemporaryFolder folder;
  const std::string numbers = "1.5,yes\n2.5,no\n3.5,yes\n4.5,no\n";
  const std::pair<std::string, std::string> rows[] = {
      {"PK\x03\x04\x14", "found a zip archive, as .xlsx files are; save the sheet as CSV"},
      {std::string("\xff\xfe"
                   "a\0,\0",
                   6),
       "found UTF-16; save it as UTF-8"},
      {"<!DOCTYPE html>\n<html>404</html>\n", "found HTML, as of a page in the place of a download"},
      {"{\"a\": 1, \"y\": 0}\n", "found JSON; write one example per line"},
      {"# exported\na,y\n" + numbers, "t.csv:1: expected the cells of a row, found '# exported'; remove the lines of"},
      {"1.5 2 0\n2.5 1 1\n", "found spaces in '1.5 2 0'; write commas in their place"},
      {"a,b,y\n1,2,no\n3,yes\n", "t.csv:3: expected 3 cells as in the first line, found 2"},
      {"price,y\n\"$1,500\",yes\n\"$2,000\",no\n",
       "no column is left for features beside the label \"y\": price is left out: '$1,500' is no number to read; "},
      {"a,y\n,yes\n,no\n", "a is left out: it has no value"},
      {"a,b,y\n", "t.csv: expected a row for each example, found the header alone"},
  };
  for (const auto& [table, expected] : rows) {
    CAPTURE(table);
    write_file(folder / "t.csv", table);
    const Outcome outcome = run_program(folder, "init t.csv");
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.out.empty());
    CHECK_MESSAGE(contains(outcome.err, expected), outcome.err);
  }
}

/// `count` rows of two numbers and a label, with `first` in the place of one number of row 9.
std::string rows_of(int count, const std::string& first = "", const char* separator = ",") {
  std::string text;
  for (int row = 0; row < count; ++row) {
    const std::string number = row == 9 && !first.empty() ? first : fmt::format("{}.{}", row * 37 % 101, row % 10);
    text += fmt::format("{1}{0}{2}.5{0}{3}\n", separator, number, row * 53 % 97, row % 3 == 0 ? "yes" : "no");
  }
  return text;
}

TEST_CASE("what is odd in a table is read for what it is, with a remark") {
  struct Row {
    std::string table, options, source, remark;
  };
  const Row rows[] = {
      {"a,b,y\n" + rows_of(40, "error"), "", "missing: mean, missing_values: [error]",
       "a: 'error' (line 11) is among 39 numbers and is taken for a missing one"},
      {"a,b,y\n" + rows_of(40, "1.234,5"), "", "", "expected 3 cells as in the first line, found more"},
      {"a,b,y\n" + rows_of(40, "\"1,234\""), "", "features: [b]", "a is left out: '1,234' is no number to read"},
      {"a,b,y\n(m),(s),\n" + rows_of(40), "", "", "t.csv:2: this line has words above columns of numbers ((m), (s))"},
      {"a,b,y\n" + rows_of(20) + "a,b,y\n" + rows_of(20), "", "labels: \"y\"}", ""},
      {"1961,1962,kind\n" + rows_of(40), "", "labels: kind, header: true",
       "the first line are numbers and some are not, and it is taken for a header"},
      {"Class,a,b\nno,1.5,2\nyes,2.5,3\nno,3.5,4\nyes,4.5,1\n", "", "labels: Class",
       "label: column Class; --label names"},
      {"a,b,y\n" + rows_of(40), "--label 1", "labels: b", ""},
      {"a|b|y\n" + rows_of(40, "", "|"), "", "labels: \"y\"", "label: the last column, \"y\""},
      {"a,a,y\n" + rows_of(40), "--label y", "labels: \"y\"}", ""},
      {"a,c,y\n1.5,7,yes\n2.5,7,no\n3.5,7,yes\n", "", "features: [a]", "c is left out: it is the same in every row"},
      {"a,y\n1.5,yes\n2.5,?\n3.5,yes\n4.5,no\n", "", "", "the label '?' of 1 rows is taken for a class"},
      {"sum;y\n2.801;yes\n950;no\n1.204;yes\n87;no\n", "", "", "2.801 is read as a number below 1000"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.table);
    const TemporaryFolder folder;
    write_file(folder / "t.csv", row.table);
    const Outcome made = run_program(folder, "init t.csv " + row.options);
    CHECK_MESSAGE(contains(made.err, row.remark), made.err);
    std::string text = made.out;
    for (std::size_t at; (at = text.find("\n    ")) != text.npos;) text.replace(at, 5, " ");
    CHECK_MESSAGE(contains(text, row.source), made.out);
    if (made.out.empty()) continue;
    write_file(folder / "c.yaml", made.out);
    const Outcome trained = run_program(folder, "fit c.yaml --run-dir run --set training.epochs=1");
    CHECK_MESSAGE(trained.exit_code == 0, trained.err);
  }
}

TEST_CASE("a configuration that init writes elsewhere names its data from there") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "made");
  std::filesystem::create_directories(folder / "data");
  write_file(folder / "data" / "t.csv", "a,b,y\n" + rows_of(40));
  CHECK(run_script(folder, "\"$MIRRORTRAIN\" init data/t.csv > made/out.yaml").exit_code == 0);
  CHECK(run_program(folder, "init data/t.csv -o made/o.yaml").exit_code == 0);
  CHECK(contains(read_text_file(folder / "made" / "o.yaml"), "file: ../data/t.csv"));
  for (const char* file : {"made/out.yaml", "made/o.yaml"}) {
    const Outcome outcome = run_program(folder, fmt::format("config check {}", file));
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  }
}

TEST_CASE("init writes a file with -o, and replaces none") {
  TemporaryFolder folder;
  write_file(folder / "t.csv", "a,y\n1.5,yes\n2.5,no\n3.5,yes\n4.5,no\n");
  CHECK(run_program(folder, "init t.csv -o c.yaml").exit_code == 0);
  CHECK(read_text_file(folder / "c.yaml") == run_program(folder, "init t.csv").out);
  const Outcome again = run_program(folder, "init t.csv -o c.yaml");
  CHECK(again.exit_code == 2);
  CHECK_MESSAGE(contains(again.err, "--output c.yaml: the file exists; name another"), again.err);
  CHECK(run_program(folder, "init t.csv -o t.csv").exit_code == 2);
}

TEST_CASE("init says the first remarks on a wide table, and none where it is to be quiet") {
  TemporaryFolder folder;
  constexpr int kColumns = 30;
  std::string text;
  for (int i = 0; i < kColumns; ++i) text += fmt::format("c{},", i);
  text += "y\n";
  for (int row = 0; row < 20; ++row) {
    for (int i = 0; i < kColumns; ++i) text += fmt::format("0{},", 100 + 17 * row + i);
    text += row % 2 == 0 ? "yes\n" : "no\n";
  }
  write_file(folder / "t.csv", text);
  const Outcome shown = run_program(folder, "init t.csv -o c.yaml");
  CHECK(shown.exit_code == 0);
  CHECK(std::ranges::count(shown.err, '\n') == 11);
  CHECK_MESSAGE(contains(shown.err, "more remarks like these are comments in the configuration"), shown.err);
  CHECK(run_program(folder, "init t.csv -q -o quiet.yaml").err.empty());
}

TEST_CASE("a configuration in a folder that is a link names its data from the real folder") {
  const TemporaryFolder folder;
  write_file(folder / "t.csv", "a,b,y\n" + rows_of(40));
  REQUIRE(run_script(folder, "mkdir -p a/deep && ln -s a/deep link && echo nothing > a/t.csv").exit_code == 0);
  CHECK(run_program(folder, "init t.csv -o link/c.yaml").exit_code == 0);
  CHECK(contains(read_text_file(folder / "link/c.yaml"), "file: ../../t.csv"));
  CHECK(run_program(folder, "config check link/c.yaml").exit_code == 0);
}

}  // namespace
}  // namespace mirrortrain::testing::init_tables_test
