#include "config/one_of.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace mirrortrain::config {
namespace {

/// Tells how many of it there are.
struct Counted {
  std::shared_ptr<int> count = std::make_shared<int>(0);
};
struct Held : Types<std::string, double, Counted> {};
struct Thing : OneOf<Held> {
  using OneOf::OneOf;
};

TEST_CASE("a choice holds the first type's default, then what it is given") {
  Thing thing;
  CHECK(get<std::string>(thing).empty());
  thing = 2.5;
  CHECK(thing.index() == 1);
  CHECK(get<double>(thing) == 2.5);
  CHECK(get_if<std::string>(&thing) == nullptr);
  CHECK_FALSE(holds_alternative<Counted>(thing));
  CHECK_THROWS_AS(get<std::string>(thing), std::bad_variant_access);
  thing.emplace<std::string>() = "long enough to lie elsewhere in memory";
  CHECK(get<std::string>(thing) == "long enough to lie elsewhere in memory");
}

TEST_CASE("copies of a choice are their own, and what it held ends when it holds another") {
  const Counted counted;
  Thing first = counted;
  CHECK(counted.count.use_count() == 2);
  Thing second = first;
  CHECK(counted.count.use_count() == 3);
  const Thing third = std::move(second);
  CHECK(counted.count.use_count() == 3);
  first = first;
  CHECK(holds_alternative<Counted>(first));
  first = std::string("other");
  CHECK(counted.count.use_count() == 2);
  first = third;
  CHECK(counted.count.use_count() == 3);
  first.emplace(0);
  CHECK(counted.count.use_count() == 2);
  CHECK(get<std::string>(first).empty());
}

TEST_CASE("a visitor sees the type that a choice holds, and may change it") {
  const auto name_of = [](const Thing& thing) {
    return visit(
        [](const auto& held) -> std::string {
          if constexpr (requires { held.count; }) return "counted";
          if constexpr (requires { held.empty(); }) return "text";
          return "number";
        },
        thing);
  };
  Thing thing;
  CHECK(name_of(thing) == "text");
  CHECK(name_of(1.0) == "number");
  CHECK(name_of(Counted()) == "counted");
  visit(
      [](auto& held) {
        if constexpr (requires { held.empty(); }) held = "changed";
      },
      thing);
  CHECK(get<std::string>(thing) == "changed");
}

}  // namespace
}  // namespace mirrortrain::config
