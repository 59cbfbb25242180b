#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/files/zip.h"

namespace mirrortrain::testing {

struct Array {
  std::string shape;  ///< as its header has it
  std::vector<float> elements;
};

/// The float32 arrays of an .npz file, by name.
inline std::map<std::string, Array> arrays_of(const std::filesystem::path& file) {
  std::map<std::string, Array> arrays;
  const data::Zip archive(file.string());
  for (const std::string& name : archive.names()) {
    const std::string content = data::read_text(*archive.open(name, name));
    REQUIRE(content.starts_with("\x93NUMPY\x01"));
    CHECK(content.find("'descr': '<f4', 'fortran_order': False") != std::string::npos);
    const std::size_t shape = content.find('(') + 1, data = content.find('\n') + 1;
    Array array{content.substr(shape, content.find(')') - shape), std::vector<float>((content.size() - data) / 4)};
    std::memcpy(array.elements.data(), content.data() + data, content.size() - data);
    REQUIRE(name.ends_with(".npy"));
    arrays.emplace(name.substr(0, name.size() - 4), std::move(array));
  }
  return arrays;
}

}  // namespace mirrortrain::testing
