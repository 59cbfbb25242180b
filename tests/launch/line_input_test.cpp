#include "launch/line_input.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/descriptor.h"

namespace mirrortrain::launch {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("lines are taken as they come, without waiting for their ends") {
  Pipe pipe;
  LineInput input(pipe.read.get());
  const auto write = [&](std::string_view text) { CHECK(::write(pipe.write.get(), text.data(), text.size()) > 0); };
  CHECK(input.take_lines().empty());
  CHECK_FALSE(input.has_ended());
  write("one\ntw");
  CHECK(input.take_lines() == Lines{"one"});
  CHECK(input.take_lines().empty());
  write("o\n\nlast");
  CHECK(input.take_lines() == Lines{"two", ""});
  pipe.write.close();
  CHECK(input.take_lines().empty());
  CHECK(input.has_ended());
  CHECK(input.take_unfinished() == "last");
  CHECK(input.take_unfinished() == "");
}

TEST_CASE("of an endless line only the beginning is kept") {
  Pipe pipe;
  LineInput input(pipe.read.get());
  const std::string part(1 << 14, 'x');
  std::size_t written = 0;
  while (written <= LineInput::kMostBytes + part.size()) {
    REQUIRE(::write(pipe.write.get(), part.data(), part.size()) == static_cast<ssize_t>(part.size()));
    written += part.size();
    CHECK(input.take_lines().empty());
  }
  REQUIRE(::write(pipe.write.get(), "\nnext\n", 6) == 6);
  const Lines lines = input.take_lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].size() == LineInput::kMostBytes);
  CHECK(lines[1] == "next");
}

}  // namespace
}  // namespace mirrortrain::launch
