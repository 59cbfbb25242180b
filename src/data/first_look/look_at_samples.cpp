#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/blanks.h"
#include "base/error.h"
#include "data/files/input.h"
#include "data/files/unpacked_input.h"
#include "data/first_look/parts.h"
#include "data/pictures/picture_files.h"
#include "data/records/sample_classes.h"
#include "data/records/tar.h"
#include "data/records/webdataset.h"

namespace mirrortrain::data {
namespace {

/// What the first samples of an archive have.
struct FirstSamples {
  std::vector<PictureSize> sizes;
  std::map<std::string, std::int64_t> pictures, numbers;  ///< files of pictures and of numbers, by ending
  std::map<std::string, std::int64_t> words{};            ///< files of a word, by ending
  bool has_several_pictures = false;                      ///< whether a sample has more than one
};

bool is_number_as_text(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

FirstSamples look_at_first(const std::string& path) {
  constexpr std::size_t kMostPictures = 1000;
  constexpr std::uint64_t kLongestNumber = 64, kLargestPicture = std::uint64_t{256} << 20;
  FirstSamples found;
  const UnpackedFiles cache(default_cache_directory());
  const auto unpacked = open_input(path)->is_compressed() ? unpack_input(path, cache) : nullptr;
  const PositionedFile file(unpacked ? unpacked->path() : path);
  TarReader reader(file, path);
  std::string last_picture;  // the sample that has it
  while (const auto entry = reader.next()) {
    const auto [sample, ending] = name_and_ending(entry->name);
    const bool is_picture = is_picture_name("a." + ending);
    if (ending.empty() || entry->size > (is_picture ? kLargestPicture : kLongestNumber)) continue;
    std::string content(static_cast<std::size_t>(entry->size), '\0');
    file.read(entry->offset, std::as_writable_bytes(std::span(content)));
    if (is_picture) {
      try {
        found.sizes.push_back(picture_size(std::as_bytes(std::span(content)), path + ": " + entry->name));
        ++found.pictures[ending];
        found.has_several_pictures = found.has_several_pictures || sample == last_picture;
        last_picture = sample;
      } catch (const Error&) {  // which training reports
      }
      if (found.sizes.size() >= kMostPictures) break;
    } else if (const std::string text(without_outer_blanks(content)); is_number_as_text(text)) {
      ++found.numbers[ending];
    } else if (may_name_class(text)) {
      ++found.words[ending];
    }
  }
  return found;
}

}  // namespace

DataLook look_at_samples(const FirstLook& at) {
  FirstSamples found = look_at_first(at.first());
  // Words as labels: those of the usual ending, or the only ones.
  if (found.numbers.empty() && (found.words.contains("cls") || found.words.size() == 1)) {
    found.numbers = {*(found.words.contains("cls") ? found.words.find("cls") : found.words.begin())};
  }
  if (found.sizes.empty() || found.numbers.empty()) {
    throw UsageError(
        fmt::format("{}: expected samples of a picture and a label, as 0001.jpg and 0001.cls, whose text is a number "
                    "or a word; found no {}",
                    at.path, found.sizes.empty() ? "pictures" : "files with numbers"));
  }
  WebDataset source;
  source.file = Files(config::Path{at.path});
  source.image_size = common_size(found.sizes);
  std::string text = fmt::format("{{format: webdataset, file: {}", at.name(at.path));
  DataLook look;
  if (found.has_several_pictures) {
    source.image = std::ranges::max_element(found.pictures, {}, [](const auto& one) { return one.second; })->first;
    text += fmt::format(", image: {}", yaml_text(*source.image));
    for (const auto& [ending, count] : found.pictures) {
      if (ending == *source.image) continue;
      look.remarks.push_back(
          fmt::format("image: the files that end in .{0}; samples have pictures that end in .{1}, too: inputs: {{a: "
                      "{0}, b: {1}}} in place of image reads both, for a model with these inputs",
                      *source.image, ending));
    }
  } else if (found.pictures.size() > 1) {
    source.image.emplace();
    for (const auto& [ending, count] : found.pictures) *source.image += (source.image->empty() ? "" : ";") + ending;
    text += fmt::format(", image: {}", yaml_text(*source.image));
  }
  if (!found.numbers.contains("cls")) source.labels.one = found.numbers.begin()->first;
  if (found.numbers.size() > 1) {
    look.remarks.push_back(
        fmt::format("labels: the files that end in .{}; others have numbers, too", *source.labels.one));
  }
  text += fmt::format(", labels: {}, image_size: [{}, {}]}}", yaml_text(*source.labels.one), (*source.image_size)[0],
                      (*source.image_size)[1]);
  look.train = std::move(text);
  DataOptions options;
  options.train.value = source;
  describe(options, look);
  return look;
}

}  // namespace mirrortrain::data
