// What is said of examples whose shape is not the model's.
#include "data/loading/model_fit.h"

#include <doctest/doctest.h>

#include <string>

#include "error_text.h"

namespace mirrortrain::data {
namespace {

std::string said(const Shape& example, const Shape& wanted, bool are_decoded, const std::string& name = "") {
  InputSpec spec;
  spec.name = name;
  spec.shape = wanted;
  spec.path = name.empty() ? "model.input_shape" : "model.inputs." + name + ".shape";
  return features_mismatch(example, spec, are_decoded);
}

TEST_CASE("pictures in files are to be resized, and to have the model's colors") {
  constexpr bool kDecoded = true;
  CHECK(said({16, 16, 3}, {16, 16, 3}, kDecoded) == "");
  CHECK(said({24, 20, 3}, {16, 16, 3}, kDecoded) ==
        "one example has the shape [24, 20, 3], but model.input_shape is [16, 16, 3]; write image_size: [16, 16], or "
        "input_shape: [24, 20, 3] if all pictures are of that size");
  CHECK(contains(said({24, 20, 3}, {16, 16, 1}, kDecoded), "write image_size: [16, 16], color: gray, or"));
  CHECK(contains(said({16, 16, 3}, {16, 16, 1}, kDecoded), "write color: gray, or input_shape: [16, 16, 3]"));
  CHECK(contains(said({16, 16, 1}, {16, 16, 3}, kDecoded), "write color: rgb, or"));
  CHECK(contains(said({24, 20, 3}, {16, 16, 3}, kDecoded, "photo"), "write image_size: [16, 16], or shape: [24, 20"));
}

TEST_CASE("arrays that may be pictures are given the shape that they have, or resized") {
  constexpr bool kDecoded = false;
  CHECK(contains(said({24, 20, 3}, {16, 12, 3}, kDecoded),
                 "write input_shape: [24, 20, 3], or add resizing: {height: 16, width: 12} to data.preprocessing"));
  CHECK(contains(said({24, 20, 3}, {16, 12, 3}, kDecoded, "left"), "resizing: {height: 16, width: 12, input: left}"));
  for (const Shape& other : {Shape({24, 20, 9}), Shape({24, 20}), Shape({480})}) {
    CHECK_FALSE(contains(said(other, {16, 12, 9}, kDecoded), "resizing"));
  }
}

}  // namespace
}  // namespace mirrortrain::data
