#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::data {

/// One of the lists of a tf.train.Example, as encoded by its protocol buffer:
///   message Example { Features features = 1; }       message Features { map<string, Feature> feature = 1; }
///   message Feature { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
///   each list { repeated ... value = 1; }             (tensorflow/core/example/feature.proto)
struct ExampleFeature {
  enum class Kind : std::uint8_t { kNothing, kBytes, kFloats, kIntegers };
  Kind kind = Kind::kNothing;
  std::span<const std::byte> list;  ///< of the record's bytes
};

// The functions below throw Error, "is no tf.train.Example: ...", for invalid bytes.

/// Finds a feature by name; kNothing if it is missing or empty.
ExampleFeature find_feature(std::span<const std::byte> record, std::string_view name);
/// The names of all features, sorted.
std::vector<std::string> feature_names(std::span<const std::byte> record);

// Append the values of a list of the kind to `values`.
void add_bytes(const ExampleFeature& feature, std::vector<std::span<const std::byte>>& values);
void add_floats(const ExampleFeature& feature, std::vector<float>& values);
void add_integers(const ExampleFeature& feature, std::vector<std::int64_t>& values);

}  // namespace mirrortrain::data
