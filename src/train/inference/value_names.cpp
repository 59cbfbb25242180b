#include "train/inference/value_names.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace mirrortrain {

std::string name_of_value(const std::string& output, std::string_view only) {
  return output.empty() ? std::string(only) : output;
}

std::string name_beside(const std::string& output, std::string_view what) {
  return output.empty() ? std::string(what) : fmt::format("{}_{}", output, what);
}

std::vector<std::string> index_suffixes(const Shape& shape) {
  std::vector<std::string> suffixes{""};
  for (const std::int64_t extent : shape) {
    std::vector<std::string> longer;
    for (const std::string& suffix : suffixes) {
      for (std::int64_t i = 0; i < extent; ++i) longer.push_back(fmt::format("{}_{}", suffix, i));
    }
    suffixes = std::move(longer);
  }
  return suffixes;
}

}  // namespace mirrortrain
