// What init writes trains, whatever the table is like.
#include <doctest/doctest.h>

#include <random>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing {
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
  const auto evaluated = nlohmann::json::parse(run_program(folder, "eval run --split validation --json -").out);
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

}  // namespace
}  // namespace mirrortrain::testing
