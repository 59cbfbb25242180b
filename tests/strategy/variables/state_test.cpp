// The user's own variables.
#include <doctest/doctest.h>

#include "error_text.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

constexpr const char* kStateAlone = R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 10, shape: [2], classes: 2}
strategy: {type: mirrored, devices: [cpu:0, cpu:1, cpu:2]}
)";

report::StateReading reading_after(int steps, const std::string& item, std::vector<std::string> overrides = {}) {
  overrides.push_back("state=[" + item + "]");
  Training training(kStateAlone, overrides);
  training.steps(steps);
  return training.strategy->state().readings().at(0);
}

using Number = report::StateReading::Number;
using Numbers = std::vector<Number>;

TEST_CASE("a counter counts the writes of all replicas in every step") {
  const auto counter =
      reading_after(3, "{name: n, dtype: int32, synchronization: on_write, aggregation: sum, assign_add: 1}");
  CHECK(counter.value == Number{std::int64_t{9}});
  CHECK(counter.replicas == Numbers(3, std::int64_t{9}));
}

TEST_CASE("without aggregation each replica counts on its own") {
  const auto counter = reading_after(2, "{name: n, initial_value: 1, assign_add: [10, 20, 30]}");
  CHECK(counter.value == Number{std::int64_t{21}});
  CHECK(counter.replicas == Numbers{std::int64_t{21}, std::int64_t{41}, std::int64_t{61}});
}

TEST_CASE("the type follows the initial value unless it is given") {
  CHECK(reading_after(1, "{name: x, initial_value: 0.5, aggregation: mean, assign_add: [1, 2, 3]}").value ==
        Number{2.5});
  CHECK(reading_after(1, "{name: x, dtype: float32, assign: 7}").value == Number{7.0});
  CHECK(reading_after(1, "{name: x, dtype: int64, assign: 5000000000}").value == Number{std::int64_t{5000000000}});
}

TEST_CASE("what cannot be read outside has copies alone") {
  const auto own = reading_after(1, "{name: n, synchronization: none, aggregation: none, assign: [1, 2, 3]}");
  CHECK_FALSE(own.value.has_value());
  CHECK(own.replicas == Numbers{std::int64_t{1}, std::int64_t{2}, std::int64_t{3}});
}

TEST_CASE("state stands beside a model") {
  Training training(kMlp, {"state=[{name: n, aggregation: sum, assign_add: 1}]"});
  training.steps(2);
  CHECK(training.strategy->state().readings()[0].value == Number{std::int64_t{4}});
}

TEST_CASE("what is wrong with a state variable is reported") {
  const auto error = [](const std::string& item) { return error_text([&] { reading_after(0, item); }); };
  CHECK(contains(error("{name: n, aggregation: mean, assign_add: 1}"), "the mean of int32 values is not an int32"));
  CHECK(contains(error("{name: n, assign_add: [1, 2]}"),
                 "state[0].assign_add: expected one number, or a list with one for each of the 3 replicas, found 2"));
  CHECK(contains(error("{name: n, assign: 1, assign_add: 1}"), "assign and assign_add exclude each other"));
  CHECK(contains(error("{name: n, assign: 1.5}"), "expected an integer for this type, found the number 1.5"));
  CHECK(contains(error("{name: n, dtype: int32, assign: 3000000000}"), "3000000000 does not fit int32"));
  CHECK(contains(error("{name: n, dtype: int16}"), "int16"));
  CHECK(contains(error("{name: n}, {name: n}"), "'n' is listed twice"));
  CHECK(contains(error("{assign: 1}"), "missing key 'name'"));
  CHECK(contains(error("{name: \"two\\nlines\"}"), "expected a name on one line"));
  CHECK(contains(error_text([] {
                   Training(kMlp, {"model.layers[0].dense.name=state", "state=[{name: kernel, assign_add: 1}]"});
                 }),
                 "state[0]: 'kernel' is a variable of the layer 'state' too"));
}

TEST_CASE("a model can be left out with state alone, and only whole") {
  CHECK(contains(error_text([] { Training{kStateAlone}; }), "missing key 'model'"));
  const std::string text = error_text([] {
    Training(kStateAlone, {"state=[{name: n}]", "loss={type: mean_squared_error}"});
  });
  CHECK(contains(text, "missing key 'model'"));
  CHECK(contains(text, "missing key 'optimizer'"));
  CHECK_FALSE(contains(text, "missing key 'loss'"));
  CHECK(contains(error_text([] {
                   Training(kStateAlone, {"state=[{name: n}]", "variables=[{match: \"*\"}]"});
                 }),
                 "missing key 'model'"));
}

}  // namespace
}  // namespace mirrortrain
