#include "data/first_look/look_at_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "config/document.h"
#include "data/files/file_list.h"
#include "data/files/input.h"
#include "data/files/stream_input.h"
#include "data/first_look/parts.h"
#include "data/loading/load.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_of(const ImageFolder& folder) {
  const FoundPictures found = find_pictures(folder, {});
  std::vector<std::string> files;
  for (std::int64_t row = 0; row < found.examples.rows(); ++row) {
    files.push_back(found.examples.inputs.front().source->row_text(row));
  }
  return files;
}

/// The folder's subfolders if all are splits, such as train and val, that contain the classes; else empty.
std::map<std::string, fs::path> split_folders(const std::string& path) {
  const std::map<std::string, std::string> splits = {
      {"train", "train"},           {"training", "train"}, {"val", "validation"}, {"valid", "validation"},
      {"validation", "validation"}, {"test", "test"},      {"testing", "test"}};
  std::map<std::string, fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with('.') || name == "__MACOSX") continue;  // from zips made by macOS
    const auto split = splits.find(in_lower_case(name));
    if (split == splits.end() || !found.emplace(split->second, entry.path()).second) return {};
  }
  // Pictures without classes are for prediction, not for evaluation.
  std::erase_if(found, [](const auto& split) {
    return split.first != "train" && std::ranges::none_of(fs::directory_iterator(split.second),
                                                          [](const auto& entry) { return entry.is_directory(); });
  });
  return found.contains("train") ? found : std::map<std::string, fs::path>();
}

/// Throws for pictures with their masks, each in a folder, because these are not two classes.
void refuse_masks(const std::string& path) {
  const std::set<std::string> pictures = {"image", "images", "img", "imgs"},
                              masks = {"mask", "masks", "label", "labels", "annotations", "segmentation"};
  std::size_t folders = 0, of_pictures = 0, of_masks = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (!entry.is_directory() || entry.path().filename().string().starts_with('.')) continue;
    const std::string name = in_lower_case(entry.path().filename().string());
    ++folders;
    of_pictures += pictures.count(name);
    of_masks += masks.count(name);
  }
  if (folders != 2 || of_pictures != 1 || of_masks != 1) return;
  throw UsageError(
      fmt::format("{}: expected a folder for each class, found pictures and their masks; labels that are pictures are "
                  "read as arrays: save both in an .npz file, as x [examples, height, width, channels] and y "
                  "[examples, height, width] with the number of each pixel's class",
                  path));
}

/// Throws for a data set that other programs write as a folder of Parquet files.
void refuse_tables(const std::string& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (!entry.is_regular_file() || ending_of(entry.path()) != ".parquet") continue;
    throw UsageError(
        fmt::format("{}: expected a folder for each class with pictures, found tables; name all of them, in quotes: "
                    "'{}'",
                    path, (fs::path(path) / "*.parquet").string()));
  }
}

/// "; rename it to a.tsv, if it is a table" for a text whose first lines have as many tabs, or commas; "" for others.
std::string as_table(const std::string& path) {
  constexpr std::size_t kMost = 1 << 16;
  std::string begin(kMost, '\0');
  const PlainFile file(path);
  begin.resize(file.read_at(0, std::as_writable_bytes(std::span(begin))));
  const std::size_t first = begin.find('\n'), second = first == begin.npos ? first : begin.find('\n', first + 1);
  if (second == begin.npos || begin.find('\0') != begin.npos) return "";
  for (const auto& [separator, ending] : {std::pair('\t', ".tsv"), std::pair(',', ".csv"), std::pair(';', ".csv")}) {
    const auto end = begin.begin() + static_cast<std::ptrdiff_t>(first);
    const auto cells = std::count(begin.begin(), end, separator);
    if (cells == 0 || std::count(end, begin.begin() + static_cast<std::ptrdiff_t>(second), separator) != cells)
      continue;
    return fmt::format("; if it is a table, rename it to {}",
                       fs::path(path).filename().replace_extension(ending).string());
  }
  return "";
}

DataLook look_at_folder(const FirstLook& at) {
  const std::string& path = at.path;
  std::map<std::string, fs::path> splits = split_folders(path);
  if (splits.empty()) {
    refuse_masks(path);
    refuse_tables(path);
  }
  if (splits.empty()) splits["train"] = path;
  ImageFolder folder;
  folder.directory = {splits["train"].string()};
  folder.image_size = {{1, 1}};
  folder.image_size = common_size(files_of(folder));
  const auto text = [&](const std::string& split) {
    if (!splits.contains(split)) return std::string();
    return fmt::format("{{format: image_folder, directory: {}, image_size: [{}, {}]}}", at.name(splits[split].string()),
                       (*folder.image_size)[0], (*folder.image_size)[1]);
  };
  DataLook look;
  look.train = text("train");
  look.validation = text("validation");
  look.test = text("test");
  DataOptions options;
  options.train.value = folder;
  describe(options, look);
  return look;
}

/// The file whose name has `from` replaced by `to`; "" if it does not exist.
std::string sibling(const std::string& path, std::initializer_list<std::pair<const char*, const char*>> changes) {
  std::string name = fs::path(path).filename().string();
  for (const auto& [from, to] : changes) {
    const std::size_t at = name.find(from);
    if (at == std::string::npos) return "";
    name.replace(at, std::string_view(from).size(), to);
  }
  const fs::path found = fs::path(path).parent_path() / name;
  return fs::exists(found) ? found.string() : "";
}

DataLook look_at_idx(const FirstLook& at) {
  const std::string& images = at.path;
  const std::string labels = sibling(images, {{"images", "labels"}, {"idx3", "idx1"}});
  if (labels.empty()) {
    throw UsageError(
        fmt::format("{}: expected an images file as train-images-idx3-ubyte.gz with its labels beside it, "
                    "train-labels-idx1-ubyte.gz",
                    images));
  }
  const auto text = [&](const std::string& x, const std::string& y) {
    return fmt::format("{{format: idx, images: {}, labels: {}}}", at.name(x), at.name(y));
  };
  DataLook look;
  look.train = text(images, labels);
  const std::string test_images = sibling(images, {{"train", "t10k"}});
  const std::string test_labels = test_images.empty() ? "" : sibling(labels, {{"train", "t10k"}});
  if (!test_labels.empty()) look.test = text(test_images, test_labels);
  DataOptions options;
  options.train.value = Idx{config::Path{images}, config::Path{labels}};
  describe(options, look);
  return look;
}

}  // namespace

std::array<std::int64_t, 2> common_size(const std::vector<std::string>& files) {
  std::vector<PictureSize> sizes;
  for (const std::string& file : files) {
    const Bytes bytes = PlainFile(file).read_whole();
    sizes.push_back(picture_size({bytes.data(), bytes.size()}, file));
  }
  return common_size(sizes);
}

std::array<std::int64_t, 2> common_size(const std::vector<PictureSize>& sizes) {
  std::vector<std::int64_t> heights, widths;
  for (const PictureSize& size : sizes) {
    heights.push_back(size.height);
    widths.push_back(size.width);
  }
  std::ranges::sort(heights);
  std::ranges::sort(widths);
  const bool agree = heights.front() == heights.back() && widths.front() == widths.back();
  if (agree && heights.front() <= 256 && widths.front() <= 256) return {heights.front(), widths.front()};
  const std::int64_t side = std::clamp<std::int64_t>(heights[heights.size() / 2] / 8 * 8, 16, 128);
  return {side, side};
}

std::string FirstLook::name(const std::string& file) const {
  const fs::path here = fs::current_path(), there = folder.empty() ? here : fs::weakly_canonical(folder);
  if (there == here || fs::path(file).is_absolute()) return yaml_text(file);
  // Links on the way are followed, as the configuration's readers do; the file may be one.
  fs::path named = fs::absolute(file).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();
  return yaml_text((fs::weakly_canonical(named.parent_path()) / named.filename()).lexically_relative(there).string());
}

std::string FirstLook::first() const {
  std::vector<std::string> remarks;
  return has_wildcards(path) ? expanded(Files(config::Path{path}), remarks).front() : path;
}

DataLook look_at_data(const FirstLook& at) {
  const std::string path = at.first();
  if (config::is_piped(path)) {
    throw UsageError(
        fmt::format("{}: expected a file, as its name says the format and it is read several times; save "
                    "what comes through the pipe as a .csv file first",
                    path));
  }
  const std::string ending = in_lower_case(fs::path(path).extension().string());
  const std::string format = ending_of(path);  // also of a compressed file
  const bool is_parquet = format == ".parquet" || format == ".pq";
  const bool is_table = format == ".csv" || format == ".tsv" || is_parquet;
  if (!fs::exists(path)) throw UsageError(fmt::format("{}: there is no such file or folder", path));
  if (at.label && !is_table) {
    throw UsageError(fmt::format("--label names a column of a .csv or .parquet file, and {} is none", path));
  }
  if (fs::is_directory(path)) return look_at_folder(at);
  const bool is_idx = fs::path(path).filename().string().find("idx") != std::string::npos;
  if (path != at.path && (is_idx || ending == ".npy")) {
    throw UsageError(
        fmt::format("{}: labels are found beside one file of examples; name one of the files, and write the glob into "
                    "the configuration",
                    at.path));
  }
  if (is_table) return look_at_table(at);
  if (ending == ".npz" || ending == ".h5" || ending == ".hdf5") return look_at_arrays(at);
  if (ending == ".npy") return look_at_npy(at);
  if (format == ".tar" || format == ".tgz") return look_at_samples(at);
  if (is_idx) return look_at_idx(at);
  throw UsageError(fmt::format(
      "{}: expected a .csv, .tsv or .parquet table, a folder with a folder of pictures for each "
      "class, an IDX images file, an .npz archive, an .npy file, an .h5 file or a .tar archive of samples, or "
      "a glob of such files{}",
      path, as_table(path)));
}

}  // namespace mirrortrain::data
