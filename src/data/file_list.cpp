#include "data/file_list.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace mirrortrain::data {

bool has_wildcards(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

namespace {

bool is_glob(const std::string& path) { return has_wildcards(path) && !std::filesystem::exists(path); }

void append_matches(const std::string& pattern, std::vector<std::string>& paths) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> matches(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status != 0 || matches.empty()) {
    throw Error(fmt::format("{}: no file matches this glob; check the folder and the pattern", pattern));
  }
  std::sort(matches.begin(), matches.end());  // by bytes, whatever the locale
  paths.insert(paths.end(), matches.begin(), matches.end());
}

}  // namespace

std::vector<std::string> expanded(const Files& files) {
  std::vector<config::Path> given;
  if (const auto* list = std::get_if<std::vector<config::Path>>(&files)) {
    given = *list;
  } else {
    given = {std::get<config::Path>(files)};
  }
  std::vector<std::string> paths;
  for (const config::Path& path : given) {
    if (is_glob(path.text)) {
      append_matches(path.text, paths);
    } else {
      paths.push_back(path.text);
    }
  }
  if (paths.empty()) throw Error("expected at least one file, found an empty list");
  return paths;
}

Array read_files(const Files& files, const std::function<Array(const std::string& path)>& read) {
  std::vector<Array> arrays;
  for (const std::string& path : expanded(files)) arrays.push_back(read(path));
  return joined(std::move(arrays));
}

Array joined(std::vector<Array> arrays) {
  if (arrays.size() == 1) return std::move(arrays.front());
  const Array& first = arrays.front();
  std::vector<std::int64_t> dims = first.shape.dims();
  dims[0] = 0;
  for (const Array& array : arrays) {
    if (array.row_shape() != first.row_shape() || array.dtype != first.dtype) {
      throw Error(fmt::format("{}: expected rows of {} {} as in {}, found {} {}; give files of one kind", array.origin,
                              name_of(first.dtype), first.row_shape().text(), first.origin, name_of(array.dtype),
                              array.row_shape().text()));
    }
    dims[0] += array.rows();
  }
  Array whole(first.dtype, Shape(std::move(dims)), first.origin);
  std::size_t bytes = 0;
  std::int64_t rows = 0;
  for (const Array& array : arrays) {
    const std::size_t own = static_cast<std::size_t>(array.shape.elements()) * size_of(array.dtype);
    if (own > 0) std::memcpy(whole.bytes.data() + bytes, array.bytes.data(), own);
    bytes += own;
    whole.parts.push_back({rows, array.origin, array.first_line});
    rows += array.rows();
  }
  return whole;
}

}  // namespace mirrortrain::data
