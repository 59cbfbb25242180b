#include "config/duration.h"

#include <doctest/doctest.h>

#include <string>

#include "config/document.h"
#include "config/section.h"

using namespace mirrortrain::config;

namespace {

struct Budget {
  std::optional<Duration> limit;
  static Section<Budget> section() {
    return Section<Budget>("A budget.").key("limit", &Budget::limit, "The longest time.");
  }
};

/// What is wrong with `limit: TEXT`; empty if it is read.
std::string duration_error(const std::string& text, Budget& budget) {
  Errors errors;
  Document document = load_text("limit: " + text + "\n", "a.yaml", {}, errors);
  budget = read<Budget>(document, errors);
  return errors.empty() ? "" : errors.text();
}

}  // namespace

TEST_CASE("durations are numbers with units, the longest first") {
  const auto milliseconds = [](const char* text) { return parse_duration(text).value_or(Duration{-1}).milliseconds; };
  CHECK(milliseconds("90s") == 90'000);
  CHECK(milliseconds("30m") == 1'800'000);
  CHECK(milliseconds("2h") == 7'200'000);
  CHECK(milliseconds("1d") == 86'400'000);
  CHECK(milliseconds("1h30m") == 5'400'000);
  CHECK(milliseconds("1.5h") == 5'400'000);
  CHECK(milliseconds("1d0.25s") == 86'400'250);
  for (const char* const text :
       {"", "h", "90", "90 s", "-1s", "30m1h", "1h1h", "1w", "0s", "0.0001s", "inf", "1e3s", "20000d", "1h30", ".5h"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("a duration is shown as the text that gives it") {
  for (const char* const text : {"90s", "30m", "1.5h", "0.25s", "1d12h", "1h0.5s", "59m59.999s", "10000d"}) {
    CAPTURE(text);
    const Duration duration = parse_duration(text).value();
    CHECK(parse_duration(duration_text(duration)) == duration);
  }
  CHECK(duration_text({5'400'000}) == "1h30m");
  CHECK(duration_text({90'000}) == "1m30s");
  CHECK(duration_text({250}) == "0.25s");
}

TEST_CASE("what is no duration is refused with what was meant") {
  Budget budget;
  CHECK(duration_error("2h", budget).empty());
  CHECK(budget.limit == Duration{7'200'000});
  CHECK(duration_error("null", budget).empty());
  CHECK_FALSE(budget.limit);
  const auto has = [&](const char* text, const std::string& wanted) {
    const std::string error = duration_error(text, budget);
    CHECK_MESSAGE(error.find(wanted) != std::string::npos, error);
  };
  has("90", "limit: expected a duration as 90s, 30m or 2h, found the number 90; a number needs its unit; write 90s");
  has("2:30:00", "found the text '2:30:00'; write 2h30m");
  has("1-12:00:00", "write 1d12h");
  has("soon", "expected a duration as 90s, 30m or 2h, found the text 'soon'");
  has("0s", "expected a duration");
  has("[2h]", "expected a duration");
}
