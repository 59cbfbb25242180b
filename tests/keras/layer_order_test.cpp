#include "keras/layer_order.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mirrortrain::keras;

TEST_CASE("layers are in the order of their depth above the outputs, then of a walk back from these") {
  // `short` is listed first, and is as deep as `far`; a shared layer is as deep as its deepest call.
  const LayerCalls calls = {
      {"input", {{}}},          {"short", {{{"input", 0}}}},           {"near", {{{"input", 0}}}},
      {"far", {{{"near", 0}}}}, {"sum", {{{"far", 0}, {"short", 0}}}}, {"unused", {{{"sum", 0}}}}};
  CHECK(layers_in_order(calls, {{"sum", 0}}) == std::vector<std::string>{"input", "near", "far", "short", "sum"});
  const LayerCalls shared = {{"a", {{}}}, {"b", {{}}}, {"twice", {{{"a", 0}}, {{"next", 0}}}}, {"next", {{{"b", 0}}}}};
  CHECK(layers_in_order(shared, {{"twice", 0}, {"twice", 1}}) == std::vector<std::string>{"b", "a", "next", "twice"});
}
