#include "data/files/file_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "data/files/matching_files.h"

namespace mirrortrain::data {

bool has_wildcards(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

namespace {

namespace fs = std::filesystem;

bool is_glob(const std::string& path) { return has_wildcards(path) && !fs::exists(path); }

void append_matches(const std::string& pattern, std::vector<std::string>& paths, std::vector<std::string>& remarks) {
  std::vector<std::string> matches = matching_files(pattern);
  const auto is_folder = [](const std::string& path) { return fs::is_directory(path); };
  const auto folders = std::ranges::stable_partition(matches, std::not_fn(is_folder));
  if (!folders.empty()) {
    remarks.push_back(fmt::format(
        "{}: {} folder{} that the glob matches {} passed over, as {}; for the files in them "
        "too, write **",
        pattern, folders.size(), folders.size() == 1 ? "" : "s", folders.size() == 1 ? "is" : "are", folders.front()));
  }
  matches.erase(folders.begin(), folders.end());
  if (matches.empty()) {
    throw Error(fmt::format("{}: no file matches this glob; check the folder and the pattern", pattern));
  }
  paths.insert(paths.end(), matches.begin(), matches.end());
}

}  // namespace

std::vector<std::string> expanded(const Files& files, std::vector<std::string>& remarks) {
  std::vector<config::Path> given;
  if (const auto* list = std::get_if<std::vector<config::Path>>(&files)) {
    given = *list;
  } else {
    given = {std::get<config::Path>(files)};
  }
  std::vector<std::string> paths;
  for (const config::Path& path : given) {
    if (is_glob(path.text)) {
      append_matches(path.text, paths, remarks);
    } else {
      paths.push_back(path.text);
    }
  }
  if (paths.empty()) throw Error("expected at least one file, found an empty list");
  return paths;
}

Array read_files(const Files& files, const std::function<Array(const std::string& path)>& read) {
  std::vector<Array> arrays;
  std::vector<std::string> remarks;
  for (const std::string& path : expanded(files, remarks)) arrays.push_back(read(path));
  Array all = joined(std::move(arrays));
  all.remarks.insert(all.remarks.end(), remarks.begin(), remarks.end());
  return all;
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
  const bool by_position = std::ranges::all_of(arrays, &Array::is_by_position);
  Array whole;
  whole.dtype = first.dtype;
  whole.shape = Shape(std::move(dims));
  whole.origin = first.origin;
  if (!by_position) whole.bytes = Bytes(checked_bytes(whole.shape, size_of(whole.dtype), whole.origin), whole.origin);
  std::vector<std::shared_ptr<const StoredRows>> stored;
  std::int64_t rows = 0;
  for (Array& array : arrays) {
    if (by_position) {
      stored.push_back(std::move(array.stored));
    } else {
      load_rows(array);
      const std::size_t own = static_cast<std::size_t>(array.rows()) * array.row_bytes();
      if (own > 0) {
        std::memcpy(whole.bytes.data() + static_cast<std::size_t>(rows) * array.row_bytes(), array.bytes.data(), own);
      }
    }
    whole.parts.push_back({rows, array.origin, array.first_line});
    whole.remarks.insert(whole.remarks.end(), array.remarks.begin(), array.remarks.end());
    rows += array.rows();
  }
  if (by_position) whole.stored = joined_rows(std::move(stored), whole.row_bytes());
  return whole;
}

}  // namespace mirrortrain::data
