#include "config/key_path.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "config/document.h"
#include "config/example.h"

namespace mirrortrain::config {
namespace {

TEST_CASE("a key's path is names and numbers of items, and nothing else") {
  CHECK(parse_key_path("a.b[2].c") == std::vector<KeyStep>{"a", "b", std::size_t{2}, "c"});
  CHECK(parse_key_path("a[0][1]") == std::vector<KeyStep>{"a", std::size_t{0}, std::size_t{1}});
  for (const char* const wrong : {"", ".", "a.", "a..b", "[0]", "a[", "a[]", "a[x]", "a[-1]", "a b"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_key_path(wrong).has_value());
  }
}

TEST_CASE("the types at a path are those of all alternatives that have the key") {
  const auto kinds = [](const std::string& path) {
    std::vector<Schema::Kind> found;
    for (const Schema& type : types_at(schema<example::Root>(), *parse_key_path(path))) found.push_back(type.kind);
    return found;
  };
  const auto has = [&](const std::string& path, Schema::Kind kind) {
    return std::ranges::count(kinds(path), kind) > 0;
  };
  CHECK(has("seed", Schema::Kind::kInteger));
  CHECK(has("layers[3].dense.units", Schema::Kind::kInteger));
  CHECK_FALSE(has("layers[3].dense.units", Schema::Kind::kNumber));
  CHECK(has("layers[0].dense.kernel_initializer.value", Schema::Kind::kNumber));  // of constant
  CHECK(kinds("layers[0].conv2d.units").empty());
  CHECK(kinds("nothing.of.the.kind").empty());
}

}  // namespace
}  // namespace mirrortrain::config
