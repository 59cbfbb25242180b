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

}  // namespace
}  // namespace mirrortrain::launch
