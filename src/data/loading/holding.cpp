#include "data/loading/holding.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/control_group.h"
#include "data/fields.h"
#include "data/key_error.h"

namespace mirrortrain::data {
namespace {

/// The memory that this process may use: the machine's, or its control group's.
std::uint64_t memory_of_process() {
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(bytes, memory_limit_of_group().value_or(bytes));
}

template <class Do>
void for_each_array(Examples& examples, bool has_keys, const Do& apply) {
  const auto at = [&](const char* one, const char* named, const std::string& name, const auto& body) {
    if (!has_keys) return body();
    try {
      body();
    } catch (const Error& error) {
      throw ErrorBelow(name.empty() ? one : named + name, error.what());
    }
  };
  for (Features& input : examples.inputs) {
    if (!input.source) at("features", "inputs.", input.name, [&] { apply(input.array, std::size_t{0}); });
  }
  for (Labels& output : examples.outputs) {
    at("labels", "labels.", output.name, [&] { apply(output.array, kMostBytesOfIndex); });
  }
}

}  // namespace

Holding::Holding(const DataOptions& options)
    : most_bytes(options.memory ? options.memory->bytes : memory_of_process() / 2),
      unpacked(options.cache_directory ? options.cache_directory->text : default_cache_directory()) {}

Examples settled(Examples examples, const Holding& holding, bool has_keys) {
  std::uint64_t bytes = 0;
  for_each_array(examples, has_keys, [&](Array& array, std::size_t) {
    bytes += checked_bytes(array.shape, size_of(array.dtype), array.origin);
  });
  for_each_array(examples, has_keys, [&](Array& array, std::size_t of_index) {
    if (!array.is_by_position()) return;
    if (bytes <= holding.most_bytes || array.row_bytes() <= of_index || array.rows() == 0) return load_rows(array);
    if (auto rows = array.stored->by_position(holding.unpacked)) array.stored = std::move(rows);
  });
  for (Labels& output : examples.outputs) find_missing(output);
  return examples;
}

}  // namespace mirrortrain::data
