#include "strategy/parameter_server/placement.h"

#include <doctest/doctest.h>

namespace mirrortrain {
namespace {

TEST_CASE("partitioners split as TensorFlow's do") {
  struct Row {
    Partitioner partitioner;
    Shape shape;
    std::int64_t shards;
  };
  const auto fixed = [](std::int64_t shards) -> Partitioner { return FixedShardsPartitioner{shards}; };
  const auto min_size = [](std::uint64_t bytes, std::int64_t most) -> Partitioner {
    return MinSizePartitioner{{bytes}, most};
  };
  const auto max_size = [](std::uint64_t bytes, std::optional<std::int64_t> most = {}) -> Partitioner {
    return MaxSizePartitioner{{bytes}, most};
  };
  // What tf.distribute.experimental.partitioners give for float32.
  const std::vector<Row> table = {
      {fixed(2), {10, 3}, 2},
      {fixed(12), {10, 3}, 10},
      {fixed(3), {}, 1},
      {min_size(4, 2), {6, 1}, 2},
      {min_size(4, 10), {6, 1}, 6},
      {min_size(256 << 10, 1), {1 << 20}, 1},
      {min_size(256 << 10, 8), {256, 1024}, 4},  // 1 MiB
      {min_size(256 << 10, 8), {100, 1000}, 2},  // 390.6 KiB / 256 KiB, rounded up
      {min_size(256 << 10, 8), {100, 10}, 1},    // 4000 bytes
      {max_size(4), {6, 1}, 6},
      {max_size(4, 2), {6, 1}, 2},
      {max_size(1024), {6, 1}, 1},
      {max_size(1000), {10, 100}, 5},  // 400 bytes a row, 2 rows a shard
      {max_size(100), {10, 100}, 10},  // a row at least
      {max_size(1300), {10, 100}, 4},  // 3 rows a shard
  };
  for (std::size_t i = 0; i < table.size(); ++i) {
    CAPTURE(i);
    CHECK(count_shards(table[i].partitioner, table[i].shape, DType::kFloat32, 4) == table[i].shards);
  }
  // Left out, max_shards of min_size is the number of servers.
  CHECK(count_shards(MinSizePartitioner{{4}, {}}, {100, 100}, DType::kFloat32, 3) == 3);
}

TEST_CASE("shards of at most a size are even, and none is larger") {
  for (const std::int64_t rows : {1, 2, 7, 10, 97, 1000}) {
    for (const std::uint64_t most : {4, 40, 41, 100, 399, 4000}) {
      CAPTURE(rows);
      CAPTURE(most);
      Model model;
      ModelVariable variable;
      variable.spec.shape = {rows, 3};
      variable.spec.trainable = true;
      model.variables.push_back(std::move(variable));
      const Placement placement(model, MaxSizePartitioner{{most}, {}}, 3);
      std::int64_t least = rows, largest = 0, all = 0;
      for (int server = 0; server < 3; ++server) {
        for (const VariablePart& part : placement.parts(server)) {
          least = std::min(least, part.elements / 3);
          largest = std::max(largest, part.elements / 3);
          all += part.elements / 3;
        }
      }
      CHECK(all == rows);
      CHECK(largest - least <= 1);
      CHECK((largest == 1 || static_cast<std::uint64_t>(largest) * 3 * sizeof(float) <= most));
    }
  }
}

Model model_of(const std::vector<std::pair<Shape, bool>>& variables, std::vector<std::size_t> assigned = {},
               const VariableUpdate& update = {}) {
  Model model;
  for (const auto& [shape, trainable] : variables) {
    ModelVariable variable;
    variable.spec.shape = shape;
    variable.spec.trainable = trainable;
    variable.update = update;
    model.variables.push_back(std::move(variable));
  }
  for (const std::size_t one : assigned) model.training.assignments.push_back({one, kNoValue});
  return model;
}

TEST_CASE("variables go to the servers in turn") {
  const Model model = model_of({{{4, 2}, true}, {{2}, true}, {{3, 3}, true}, {{5}, true}, {{1}, true}});
  const Placement placement(model, std::nullopt, 2);
  const auto variables = [&](int server) {
    std::vector<std::size_t> all;
    for (const VariablePart& part : placement.parts(server)) all.push_back(part.variable);
    return all;
  };
  CHECK(variables(0) == std::vector<std::size_t>{0, 2, 4});
  CHECK(variables(1) == std::vector<std::size_t>{1, 3});
  CHECK(placement.elements(0, Content::kChanging) == 8 + 9 + 1);
  CHECK(placement.elements(Content::kValues) == 8 + 2 + 9 + 5 + 1);
}

TEST_CASE("the remainder of the rows goes to the first shards, and shards go to the servers in turn") {
  const Model model = model_of({{{7, 2}, true}, {{2, 2}, true}});
  const Placement placement(model, FixedShardsPartitioner{3}, 2);
  struct Expected {
    int server;
    std::size_t variable;
    std::int64_t first, elements;
  };
  // 7 rows: 3 + 2 + 2; 2 rows: 1 + 1
  const std::vector<Expected> expected = {{0, 0, 0, 6}, {0, 0, 10, 4}, {0, 1, 2, 2}, {1, 0, 6, 4}, {1, 1, 0, 2}};
  std::vector<Expected> found;
  for (int server = 0; server < 2; ++server) {
    for (const VariablePart& part : placement.parts(server)) {
      found.push_back({server, part.variable, part.first, part.elements});
    }
  }
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].server == expected[i].server);
    CHECK(found[i].variable == expected[i].variable);
    CHECK(found[i].first == expected[i].first);
    CHECK(found[i].elements == expected[i].elements);
  }
}

TEST_CASE("messages have what training changes first, and slots of the trained alone") {
  // trained, assigned, constant, trained
  const Model model = model_of({{{3}, true}, {{4}, false}, {{5}, false}, {{6}, true}}, {1}, {scalar::Adam{}, {}});
  const Placement placement(model, std::nullopt, 1);
  CHECK(placement.elements(Content::kChanging) == 3 + 6 + 4);
  CHECK(placement.elements(Content::kValues) == 3 + 6 + 4 + 5);
  CHECK(placement.elements(Content::kState) == 3 + 6 + 4 + 5 + 2 * (3 + 6));
  const auto pieces = placement.pieces(0, Content::kState);
  REQUIRE(pieces.size() == 8);
  CHECK(pieces[2].part->kind == VariablePart::Kind::kAssigned);
  CHECK(pieces[4].slot == 0);
  CHECK(pieces[4].offset == 18);
  CHECK(pieces[7].slot == 1);
  CHECK(pieces[7].offset == 18 + 2 * 3 + 6);
}

TEST_CASE("a state of a direction has its own elements in messages") {
  const Placement placement(model_of({{{3, 5}, true}, {{4}, true}}, {}, {scalar::Adafactor{}, {}}), std::nullopt, 1);
  CHECK(placement.elements(Content::kState) == 15 + 4 + 3 + 5 + 4);
  const auto pieces = placement.pieces(0, Content::kState);
  REQUIRE(pieces.size() == 5);
  CHECK(pieces[3].elements == 5);
  CHECK(pieces[3].is_state);
}

TEST_CASE("a server may have no variables at all") {
  const Placement placement(model_of({{{3}, true}}, {}, {scalar::Lion{}, {}}), std::nullopt, 3);
  CHECK(placement.elements(2, Content::kState) == 0);
  CHECK(placement.elements(Content::kState) == 6);
}

}  // namespace
}  // namespace mirrortrain
