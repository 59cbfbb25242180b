#include "config/scalar.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace mirrortrain::config;

namespace {

Value unquoted(std::string text) { return Value::scalar(std::move(text), false); }
Value quoted(std::string text) { return Value::scalar(std::move(text), true); }

}  // namespace

TEST_CASE("plain scalars mean what YAML's core schema says") {
  for (const char* text : {"null", "Null", "NULL", "~", ""}) CHECK(meaning_of(unquoted(text)) == Meaning::kNull);
  for (const char* text : {"true", "True", "TRUE", "false", "False"}) {
    CHECK(meaning_of(unquoted(text)) == Meaning::kBoolean);
  }
  for (const char* text : {"0", "-1", "+12", "007", "0x1F", "0o17"})
    CHECK(meaning_of(unquoted(text)) == Meaning::kInteger);
  for (const char* text : {"1.5", ".5", "1.", "-1e-3", "1E5", "+.5e+2", ".inf", "-.INF", ".nan"}) {
    CHECK(meaning_of(unquoted(text)) == Meaning::kNumber);
  }
  for (const char* text : {"yes", "1_000", "1e", "e5", ".", "-", "0x", "0xG", "-0x1", "1.2.3", "inf", "nan", "1 2"}) {
    CAPTURE(text);
    CHECK(meaning_of(unquoted(text)) == Meaning::kText);
  }
}

TEST_CASE("quoted scalars are texts") {
  for (const char* text : {"1", "true", "null", ""}) CHECK(meaning_of(quoted(text)) == Meaning::kText);
  CHECK(as_text(quoted("1")) == "1");
  CHECK_FALSE(as_integer(quoted("1")));
  CHECK_FALSE(as_boolean(quoted("true")));
  CHECK_FALSE(as_text(unquoted("1")));
}

TEST_CASE("integers are read in three bases and refused where they do not fit") {
  CHECK(as_integer(unquoted("0x10")) == 16);
  CHECK(as_integer(unquoted("0o17")) == 15);
  CHECK(as_integer(unquoted("010")) == 10);
  CHECK(as_integer(unquoted("+7")) == 7);
  CHECK(as_integer(unquoted("-9223372036854775808")) == std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(as_integer(unquoted("9223372036854775808")));
  CHECK(as_unsigned(unquoted("18446744073709551615")) == std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(as_unsigned(unquoted("-1")));
  CHECK_FALSE(as_integer(unquoted("1.0")));
}

TEST_CASE("numbers take integers and refuse what a double cannot hold") {
  CHECK(as_number(unquoted("3")) == 3.0);
  CHECK(as_number(unquoted("0x10")) == 16.0);
  CHECK(as_number(unquoted("1e-3")) == 0.001);
  CHECK(as_number(unquoted("+.5")) == 0.5);
  CHECK(as_number(unquoted("1.")) == 1.0);
  CHECK(as_number(unquoted("-.inf")) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(as_number(unquoted(".nan")).value()));
  CHECK_FALSE(as_number(unquoted("1e999")));
  CHECK_FALSE(as_number(unquoted("abc")));
}

TEST_CASE("sizes are bytes, or have binary or decimal units") {
  CHECK(parse_size("4096") == 4096u);
  CHECK(parse_size("25MiB") == 25u << 20);
  CHECK(parse_size("64K") == 65536u);
  CHECK(parse_size("1 GiB") == 1u << 30);
  CHECK(parse_size("2KB") == 2000u);
  CHECK(parse_size("7B") == 7u);
  for (const char* text :
       {"", "MiB", "1.5MiB", "-1", "1ZiB", "1Mi", "1 MiB ", "99999999999999T", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_size(text));
  }
}

TEST_CASE("numbers are written in the fewest digits that read back as the same number") {
  CHECK(number_value(0.1).text() == "0.1");
  CHECK(number_value(0.1f).text() == "0.1");
  CHECK(number_value(2.0).text() == "2.0");
  CHECK(number_value(1e-7).text() == "1.0e-07");
  for (const double number : {1e-7, 1e22, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 123456789.125}) {
    CHECK(as_number(number_value(number)) == number);
  }
  CHECK(number_value(-std::numeric_limits<double>::infinity()).text() == "-.inf");
}

TEST_CASE("what was found is described by its kind and shortened") {
  CHECK(describe(unquoted("3.5")) == "the number 3.5");
  CHECK(describe(unquoted("abc")) == "the text 'abc'");
  CHECK(describe(quoted("1")) == "the text '1'");
  CHECK(describe(unquoted("true")) == "true");
  CHECK(describe(Value()) == "null");
  CHECK(describe(Value::sequence({unquoted("0.1"), Value()})) == "the list [0.1, null]");
  CHECK(describe(Value::mapping({{"a", {}, unquoted("1")}})) == "the mapping {a: 1}");
  CHECK(describe(unquoted(std::string(1 << 20, 'x'))) == "the text '" + std::string(48, 'x') + "...'");
}

TEST_CASE("the nearest name within two edits is suggested") {
  const std::vector<std::string> names = {"units", "use_bias", "name"};
  CHECK(suggestion("unitz", names) == "; did you mean 'units'?");
  CHECK(suggestion("nmae", names) == "; did you mean 'name'?");
  CHECK(suggestion("use_biasss", names) == "; did you mean 'use_bias'?");
  CHECK(suggestion("filters", names) == "");
  CHECK(suggestion("nam", {"ram", "name"}) == "; did you mean 'ram'?");
  CHECK(suggestion("Units", names) == "; did you mean 'units'?");
  const std::vector<Name> declared = {{"units", "out_features, neurons"}, {"rho", "alpha"}, {"learning_rate", "lr"}};
  CHECK(suggestion("out_features", declared) == "; did you mean 'units'?");
  CHECK(suggestion("lr", declared) == "; did you mean 'learning_rate'?");
  CHECK(suggestion("lr", {"rho"}) == "");
  const std::string long_name(1000, 'x');
  CHECK(suggestion(long_name, {long_name + "y"}).size() < 100);
}
