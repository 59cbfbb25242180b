#include "strategy/variables/distributed_variable.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "error_text.h"

namespace mirrortrain {
namespace {

using nlohmann::json;

template <class T>
const std::byte* bytes(const T& value) {
  return reinterpret_cast<const std::byte*>(&value);
}

/// A scalar on some replicas, with storage of its own.
template <class T>
class Scalar {
 public:
  Scalar(VariablePolicy policy, int replicas, T initial)
      : shared_(!policy.copies_can_differ()),
        elements_(static_cast<std::size_t>(replicas), initial),
        variable_("v", kDTypeOf<T>, Shape{}, policy, pointers()) {}

  const DistributedVariable& variable() const { return variable_; }
  std::vector<T> copies() const {
    std::vector<T> values;
    for (int r = 0; r < variable_.replicas(); ++r) values.push_back(*variable_.copy(r).template as<T>());
    return values;
  }
  T read() const {
    T value;
    variable_.read(reinterpret_cast<std::byte*>(&value));
    return value;
  }
  void write_in_replicas(WriteKind kind, const std::vector<T>& values) const {
    std::vector<const std::byte*> pointers;
    for (const T& value : values) pointers.push_back(bytes(value));
    variable_.write_in_replicas(kind, pointers);
  }
  void set(T value) const { variable_.set(bytes(value)); }
  void restore(const std::vector<T>& saved) const {
    std::vector<const std::byte*> pointers;
    for (const T& value : saved) pointers.push_back(bytes(value));
    variable_.restore(pointers, variable_.policy());
  }

 private:
  std::vector<std::byte*> pointers() {
    std::vector<std::byte*> copies;
    for (T& element : elements_) copies.push_back(reinterpret_cast<std::byte*>(shared_ ? &elements_[0] : &element));
    return copies;
  }
  bool shared_;
  std::vector<T> elements_;
  DistributedVariable variable_;
};

template <class E>
E named(const std::string& name) {
  for (const auto& [text, value] : config::EnumNames<E>::names) {
    if (text == name) return value;
  }
  throw Error("no such name: " + name);
}

/// What the replicas write: assign_sub is assign_add of the values negated.
template <class T>
void write_in_replicas(const Scalar<T>& scalar, const std::string& kind, std::vector<T> values) {
  if (kind == "assign_sub") {
    for (T& value : values) value = static_cast<T>(-value);
  }
  scalar.write_in_replicas(kind == "assign" ? WriteKind::kAssign : WriteKind::kAssignAdd, values);
}

template <class T>
void check_same(T value, T expected) {
  if constexpr (std::is_floating_point_v<T>) {
    CHECK(value == doctest::Approx(expected).epsilon(1e-6));
  } else {
    CHECK(value == expected);
  }
}

template <class T>
void check_copies(const Scalar<T>& scalar, const json& expected) {
  REQUIRE(scalar.copies().size() == expected.size());
  for (std::size_t r = 0; r < expected.size(); ++r) check_same(scalar.copies()[r], expected[r].get<T>());
}

/// What tf.distribute gives in one scenario: writes in the replicas, assignments from outside, a checkpoint in between.
template <class T>
void follow_scenario(const json& variable, VariablePolicy policy, const json& scenario) {
  const auto initial = variable.at("initial").get<T>();
  auto scalar = std::make_unique<Scalar<T>>(policy, variable.at("replicas").get<int>(), initial);
  const bool is_total = policy == VariablePolicy{Synchronization::kOnRead, Aggregation::kSum};
  std::vector<T> saved;
  for (const json& event : scenario) {
    CAPTURE(json_text(event));
    const std::string where = event.at("where"), kind = event.at("kind");
    bool copies_as_reference = true;
    if (where == "replica") {
      write_in_replicas(*scalar, kind, event.at("values").get<std::vector<T>>());
    } else if (kind == "save") {
      saved = policy.copies_can_differ() ? scalar->copies() : std::vector<T>{scalar->copies()[0]};
    } else if (kind == "restore") {
      const int replicas = event.at("replicas");
      if (!policy.readable_outside() || event.contains("error")) return;
      if (replicas != variable.at("replicas").get<int>() || !policy.copies_can_differ()) {
        scalar = std::make_unique<Scalar<T>>(policy, replicas, initial);
        scalar->restore(saved);
        copies_as_reference = !is_total;
      } else {
        // As many replicas as before: a training goes on exactly, so each gets its own copy back.
        scalar->restore(saved);
        CHECK(scalar->copies() == saved);
        return;
      }
    } else if (kind != "assign" || event.contains("error")) {
      return;  // nothing here adds to a variable from outside the replicas
    } else {
      scalar->set(event.at("value").get<T>());
      copies_as_reference = !is_total;  // the reference hands out v / N each and loses an integer's remainder
      if (is_total) CHECK(scalar->read() == event.at("value").get<T>());
    }
    if (copies_as_reference) check_copies(*scalar, event.at("copies"));
    if (!policy.readable_outside()) {
      CHECK_THROWS_AS(scalar->read(), Error);
    } else if (copies_as_reference) {
      check_same(scalar->read(), event.at("outside").get<T>());
    } else if (kind == "restore") {
      T total = 0;
      for (const T copy : saved) total = static_cast<T>(total + copy);
      CHECK(scalar->read() == total);
    }
  }
}

TEST_CASE("every legal pair does what tf.distribute does") {
  const auto golden =
      parse_json<json>(read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/distributed-variables.json"));
  REQUIRE(golden.at("variables").size() >= 60);
  for (const json& variable : golden.at("variables")) {
    const std::string dtype = variable.at("dtype");
    const VariablePolicy policy = resolved(
        {named<Synchronization>(variable.at("synchronization")), named<Aggregation>(variable.at("aggregation"))},
        false);
    const auto name = fmt::format("{} {} replicas {}", dtype, variable.at("replicas").get<int>(), policy.text());
    CAPTURE(name);
    for (const json& scenario : variable.at("scenarios")) {
      if (dtype == "int32") follow_scenario<std::int32_t>(variable, policy, scenario);
      if (dtype == "int64") follow_scenario<std::int64_t>(variable, policy, scenario);
      if (dtype == "float32") follow_scenario<float>(variable, policy, scenario);
    }
  }
}

TEST_CASE("what tf.distribute refuses to create is refused, but for copies that are never synchronized") {
  const auto golden =
      parse_json<json>(read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/distributed-variables.json"));
  for (const json& creation : golden.at("creation")) {
    if (creation.at("trainable").is_null()) continue;
    const VariablePolicy policy{named<Synchronization>(creation.at("synchronization")),
                                named<Aggregation>(creation.at("aggregation"))};
    const std::string dtype = creation.at("dtype");
    const DType type = dtype == "int32" ? DType::kInt32 : dtype == "int64" ? DType::kInt64 : DType::kFloat32;
    const bool trainable = creation.at("trainable");
    const std::string error = policy_error(policy, type, trainable);
    const auto name = fmt::format("{} {} trainable {}: '{}'", dtype, policy.text(), trainable, error);
    CAPTURE(name);
    const bool ours = policy == VariablePolicy{Synchronization::kNone, Aggregation::kNone};
    // Stricter than tf.Variable, which takes the pair: weights whose copies wait to be read would drift apart.
    const bool unwritable = policy.synchronization == Synchronization::kOnRead && trainable;
    CHECK(error.empty() == (ours || (!creation.contains("error") && !unwritable)));
  }
}

TEST_CASE("copies that are never synchronized are each replica's own and cannot be read outside") {
  const Scalar<std::int32_t> own({Synchronization::kNone, Aggregation::kNone}, 3, 1);
  own.write_in_replicas(WriteKind::kAssignAdd, {10, 20, 30});
  CHECK(own.copies() == std::vector{11, 21, 31});
  CHECK(error_text([&] { own.read(); }).find("v: reading none x none copies") != std::string::npos);
  own.restore({4, 5, 6});
  CHECK(own.copies() == std::vector{4, 5, 6});
}

TEST_CASE("with another number of replicas all go on from what reading outside gave") {
  const Scalar<std::int32_t> total({Synchronization::kOnRead, Aggregation::kSum}, 3, 0);
  total.restore({3, 4});
  CHECK(total.copies() == std::vector{7, 0, 0});  // an odd total comes back whole
  const Scalar<float> mean({Synchronization::kOnRead, Aggregation::kMean}, 3, 0);
  mean.restore({1, 2});
  CHECK(mean.copies() == std::vector{1.5f, 1.5f, 1.5f});
  const Scalar<float> own({Synchronization::kNone, Aggregation::kNone}, 3, 0);
  own.restore({8, 9});
  CHECK(own.copies() == std::vector{8.0f, 8.0f, 8.0f});
}

TEST_CASE("integers wrap around instead of overflowing") {
  const Scalar<std::int32_t> sum({Synchronization::kOnWrite, Aggregation::kSum}, 2, 2147483647);
  sum.write_in_replicas(WriteKind::kAssignAdd, {1, 0});
  CHECK(sum.read() == -2147483647 - 1);
}

TEST_CASE("a refusal names the variable, the pair and the legal ones") {
  const auto make = [] { Scalar<std::int64_t>({Synchronization::kOnWrite, Aggregation::kMean}, 2, 0); };
  CHECK(error_text(make) ==
        "v: on_write x mean: the mean of int64 values is not an int64; legal are auto, on_write and on_read with none, "
        "sum or "
        "only_first_replica, and none with none");
  CHECK(policy_error({Synchronization::kOnRead, Aggregation::kMean}, DType::kFloat32, true) ==
        "on_read x mean: a trainable variable is written by the optimizer, so its copies cannot wait to be read; legal "
        "are auto and on_write with none, sum, mean or only_first_replica, and none with none");
}

TEST_CASE("copies can differ unless every write is aggregated") {
  CHECK_FALSE(VariablePolicy{Synchronization::kOnWrite, Aggregation::kMean}.copies_can_differ());
  CHECK_FALSE(VariablePolicy{Synchronization::kOnWrite, Aggregation::kSum}.copies_can_differ());
  CHECK(VariablePolicy{Synchronization::kOnWrite, Aggregation::kNone}.copies_can_differ());
  CHECK(VariablePolicy{Synchronization::kOnRead, Aggregation::kMean}.copies_can_differ());
}

}  // namespace
}  // namespace mirrortrain
