#include "report/format.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace mirrortrain;
using namespace mirrortrain::report;

TEST_CASE("numbers are grouped by thousands") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1000) == "1,000");
  CHECK(with_thousands(225034) == "225,034");
  CHECK(with_thousands(1234567890) == "1,234,567,890");
  CHECK(with_thousands(-999) == "-999");
  CHECK(with_thousands(-123456) == "-123,456");
}

TEST_CASE("bytes are shown in the unit that fits") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.0 KiB");
  CHECK(bytes_text(1258291) == "1.2 MiB");
  CHECK(bytes_text((1 << 20) - 1) == "1.0 MiB");
  CHECK(bytes_text(std::uint64_t{3} << 30) == "3.0 GiB");
  CHECK(bytes_text(std::numeric_limits<std::uint64_t>::max()) == "16.0 EiB");
}

TEST_CASE("durations are shown as a person says them") {
  CHECK(duration_text(0.84) == "0.8 s");
  CHECK(duration_text(9.96) == "10 s");
  CHECK(duration_text(59.4) == "59 s");
  CHECK(duration_text(59.6) == "1:00");
  CHECK(duration_text(185) == "3:05");
  CHECK(duration_text(3727) == "1:02:07");
  CHECK(duration_text(std::numeric_limits<double>::quiet_NaN()) == "?");
}

TEST_CASE("scores are shown with four figures that matter") {
  CHECK(score_text(0.5123456) == "0.5123");
  CHECK(score_text(0) == "0.0000");
  CHECK(score_text(123.456) == "123.46");
  CHECK(score_text(0.00001234) == "1.234e-05");
  CHECK(score_text(-2.5) == "-2.5000");
  CHECK(score_text(1234567) == "1.235e+06");
  CHECK(score_text(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(score_text(-std::numeric_limits<double>::quiet_NaN()) == "nan");
}

TEST_CASE("the layer table lines up and ends with the totals") {
  const std::vector<LayerRow> layers = {
      {"stem", "conv2d", {26, 26, 32}, 320}, {"flatten", "flatten", {21632}, 0}, {"dense", "dense", {10}, 216330}};
  CHECK(layer_table(layers, 216650) ==
        "layer (type)       output shape  parameters\n"
        "stem (conv2d)      [26, 26, 32]         320\n"
        "flatten (flatten)  [21632]                0\n"
        "dense (dense)      [10]             216,330\n"
        "216,650 parameters (846.3 KiB), 216,650 of them trainable\n");
  CHECK(layer_table(std::vector<LayerRow>{{"畳み込み", "conv2d", {3}, 1}, {"größe", "dense", {2}, 1}}, 2) ==
        "layer (type)       output shape  parameters\n"
        "畳み込み (conv2d)  [3]                    1\n"
        "größe (dense)      [2]                    1\n"
        "2 parameters (8 B), 2 of them trainable\n");
}
