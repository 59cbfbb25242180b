#include "data/folders/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/utf8.h"
#include "data/key_aliases.h"
#include "data/pictures/picture_files.h"
#include "data/tables/csv_file.h"
#include "data/tables/mistaken_number.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code refused;
  return fs::is_directory(path, refused);
}

std::string lower_ending(const fs::path& path) { return in_lower_case(path.extension().string()); }

/// The entries of a folder, except hidden ones, in bytewise order.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with('.')) entries.push_back(at->path());
  }
  if (error) {
    throw Error(
        fmt::format("{}: cannot read this folder of pictures: {}; check the path", folder.string(), error.message()));
  }
  std::ranges::sort(entries, {}, [](const fs::path& path) { return path.string(); });
  return entries;
}

bool is_broken_link(const fs::path& path) {
  std::error_code unreachable;
  return fs::is_symlink(path, unreachable) && !fs::exists(path, unreachable);
}

/// Entries that look like data but are not read: pictures of other formats or in other places, folders, broken links.
class PassedOver {
 public:
  void add(const fs::path& path) {
    if (is_folder(path)) {
      ++folders_;
    } else if (is_picture_name(path) || has_other_ending(path) || is_broken_link(path)) {
      ++files_;
    } else {
      return;
    }
    if (first_.empty()) first_ = path.string();
  }
  /// `where`: the place from which pictures are read.
  std::vector<std::string> remarks(const std::string& origin, std::string_view where) const {
    if (first_.empty()) return {};
    const auto counted = [](std::int64_t count, std::string_view what) {
      return count == 0 ? std::string() : fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    const std::string both = files_ > 0 && folders_ > 0 ? " and " : "";
    return {
        fmt::format("{}: {}{}{} {} passed over, as {}; what is read are files that end in .png, .jpg, .jpeg, "
                    ".webp, .bmp, .gif, .tif or .tiff, {}",
                    origin, counted(files_, "file"), both, counted(folders_, "folder"),
                    files_ + folders_ == 1 ? "is" : "are", shortened(first_, 200), where)};
  }

 private:
  static bool has_other_ending(const fs::path& path) {
    constexpr auto kEndings =
        std::to_array<std::string_view>({".heic", ".heif", ".avif", ".jfif", ".jpe", ".jp2", ".ppm", ".pgm"});
    return std::ranges::find(kEndings, lower_ending(path)) != kEndings.end();
  }

  std::int64_t files_ = 0, folders_ = 0;
  std::string first_;
};

/// The pictures of a folder; or the path itself if it is a picture. A link to one that is not there, as version control
/// of large files leaves it until it is fetched, is a picture that cannot be read.
std::vector<std::string> pictures_in(const fs::path& folder, PassedOver& passed_over) {
  if (is_file(folder)) return {folder.string()};
  std::vector<std::string> files;
  for (const fs::path& path : entries_of(folder)) {
    if (is_picture_name(path) && (is_file(path) || is_broken_link(path))) {
      files.push_back(path.string());
    } else {
      passed_over.add(path);
    }
  }
  return files;
}

struct LabeledFiles {
  std::vector<std::string> files, labels;
  std::vector<std::int64_t> rows{};  ///< their rows among all, if some were left out
  std::vector<std::string> remarks{};

  void keep(const std::vector<std::int64_t>& kept) {
    LabeledFiles left;
    left.remarks = std::move(remarks);
    for (const std::int64_t one : kept) {
      const auto at = static_cast<std::size_t>(one);
      left.files.push_back(std::move(files[at]));
      left.labels.push_back(std::move(labels[at]));
      left.rows.push_back(rows.empty() ? one : rows[at]);
    }
    *this = std::move(left);
  }
};

LabeledFiles files_of_folders(const fs::path& directory) {
  LabeledFiles found;
  PassedOver passed_over;
  for (const fs::path& folder : entries_of(directory)) {
    if (!is_folder(folder)) {
      passed_over.add(folder);
      continue;
    }
    if (!is_utf8(folder.filename().string())) {
      throw Error(
          fmt::format("{}: the name of this class is not UTF-8, as classes.json of a run must be; rename the "
                      "folder",
                      shortened(folder.string(), 200)));
    }
    const std::vector<std::string> files = pictures_in(folder, passed_over);
    if (files.empty()) {
      const auto inside = entries_of(folder);
      const bool has_folders = std::ranges::any_of(inside, is_folder);
      throw Error(fmt::format(
          "{}: expected pictures of the class '{}', found none; {}", folder.string(),
          shortened(folder.filename().string()),
          has_folders ? fmt::format("if the classes are the folders in it, write directory: {}", folder.string())
                      : "add some or remove the folder"));
    }
    found.labels.insert(found.labels.end(), files.size(), folder.filename().string());
    found.files.insert(found.files.end(), files.begin(), files.end());
  }
  if (found.files.empty()) {
    throw Error(
        fmt::format("{}: expected a folder for each class with pictures, found none; put each class's "
                    "pictures in a folder of its name, or give a CSV file of names and labels in 'labels'",
                    directory.string()));
  }
  found.remarks = passed_over.remarks(directory.string(), "right in a class's folder");
  return found;
}

LabeledFiles files_of_table(const fs::path& directory, const std::string& path, BadExamples* bad) {
  Csv options;
  options.header = false;  // the first cell shows whether it is one: it names no picture
  CsvFile file(path, options);
  CsvText& text = file.text();
  LabeledFiles found;
  std::vector<std::int64_t> missing;
  if (file.first_line().columns != 2) {
    throw Error(fmt::format("{}: expected two columns, a picture's path and its label, found {}", path,
                            file.first_line().columns));
  }
  text.at_end();  // skips blank lines
  const std::int64_t first_line = text.line(text.position());
  while (!text.at_end()) {
    const std::int64_t line = text.line(text.position());
    const std::string name = text.cell();
    const bool has_label = text.next() == CsvText::After::kCell;
    const std::string label = has_label ? text.cell() : "";
    if (label.empty() || text.next() != CsvText::After::kLine) {
      throw Error(fmt::format("{}:{}: expected a picture's path and its label", path, line));
    }
    const std::string picture = (directory / name).string();
    const bool is_first = found.files.empty() && missing.empty() && line == first_line;
    if (is_first && !is_picture_name(name) && !is_file(picture)) continue;  // a header
    if (!is_below(name) || !is_file(picture)) {
      const std::string reason =
          is_below(name) ? fmt::format("{}:{}: there is no picture {}; correct the name or remove the line", path, line,
                                       shortened(picture, 200))
                         : fmt::format(
                               "{}:{}: expected the path of a picture below {}, found '{}'; move the pictures "
                               "there, or link them",
                               path, line, directory.string(), shortened(name, 200));
      if (bad == nullptr) throw Error(reason);
      missing.push_back(std::ssize(found.files));
      bad->add(missing.back(), reason);
    }
    found.files.push_back(picture);
    found.labels.push_back(label);
  }
  if (found.files.empty()) throw Error(fmt::format("{}: expected at least one picture, found none", path));
  if (!missing.empty()) found.keep(rows_but(std::ssize(found.files), missing));
  return found;
}

std::vector<std::string> sorted(std::vector<std::string> labels) {
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

Examples unlabelled(const ImageFolder& source, std::vector<std::string> files, bool passes_over_bad) {
  const auto pictures = std::make_shared<PictureFiles>(std::move(files));
  Array labels(DType::kFloat64, {pictures->rows()}, source.directory.text);
  std::ranges::fill(labels.span<double>(), 0);
  Examples examples;
  examples.inputs.push_back(
      decoded_when_asked(pictures, {source.image_size, source.color}, source.directory.text, passes_over_bad));
  examples.outputs.push_back({"", std::move(labels)});
  return examples;
}

/// Excludes the files of classes that the training data do not have.
void require_known(LabeledFiles& found, const std::vector<std::string>& classes, BadExamples* bad) {
  std::vector<std::int64_t> unknown;
  for (std::size_t i = 0; i < found.files.size(); ++i) {
    if (std::ranges::binary_search(classes, found.labels[i])) continue;
    const std::string text =
        classes.empty()
            ? fmt::format(
                  "{}: the class '{}' has no number, as the classes of the training data are numbers without "
                  "names; give labels as the training data do",
                  found.files[i], shortened(found.labels[i]))
            : fmt::format("{}: the class '{}' is none of the {} of the training data; correct or remove it",
                          found.files[i], shortened(found.labels[i]), classes.size());
    if (bad == nullptr) throw Error(text);
    unknown.push_back(static_cast<std::int64_t>(i));
    bad->add(found.rows.empty() ? unknown.back() : found.rows[i], text);
  }
  if (!unknown.empty()) found.keep(rows_but(std::ssize(found.files), unknown));
}

double number_of(const std::string& label, const std::string& file) {
  if (const auto number = number_in(label)) return *number;
  const std::string hint = mistaken_number(label, '.');
  throw Error(
      fmt::format("{}: the label '{}' is a word, and the loss compares numbers; {}", file, shortened(label),
                  !hint.empty() ? hint : "for classes take sparse_categorical_crossentropy, with an output for each"));
}

}  // namespace

config::Section<ImageFolder> ImageFolder::section() {
  return config::Section<ImageFolder>(
             "Pictures (PNG, JPEG, WebP, BMP, GIF, TIFF) in one folder for each class, as numbers from 0 to 255. They "
             "are decoded while the run continues, so that a set may be larger than memory.")
      .key("directory", &ImageFolder::directory, "The folder with the classes' folders.", config::required,
           config::aliases("path, dir, root, folder"))
      .key("labels", &ImageFolder::labels,
           "A CSV file of two columns, a picture's path in the folder and its label, in the place of classes' folders. "
           "Where the loss compares numbers, the labels are numbers.",
           kLabelsAliases)
      .key("image_size", &ImageFolder::image_size,
           "Height and width to which pictures are resized (bilinear, without antialiasing); null: all are as large as "
           "the first.",
           config::between(1, 1 << 15), kImageSizeAliases)
      .key("color", &ImageFolder::color, "Three channels or one.", kColorAliases);
}

FoundPictures find_pictures(const ImageFolder& source, const PictureLabels& wanted, BadExamples* bad) {
  const std::vector<std::string>* const known = wanted.classes;
  LabeledFiles found = source.labels ? files_of_table(source.directory.text, source.labels->text, bad)
                                     : files_of_folders(source.directory.text);
  if (known != nullptr && !wanted.are_numbers) require_known(found, *known, bad);
  if (found.files.empty() && bad != nullptr) std::move(*bad).left_out(0, source.directory.text);
  FoundPictures pictures{unlabelled(source, found.files, bad != nullptr), {}};
  if (!wanted.are_numbers) pictures.classes = known != nullptr ? *known : sorted(found.labels);
  Array& read = pictures.examples.outputs.front().array;
  const auto labels = read.span<double>();
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (wanted.are_numbers) {
      labels[row] = number_of(found.labels[row], found.files[row]);
      continue;
    }
    const auto at = std::ranges::lower_bound(pictures.classes, found.labels[row]);
    labels[row] = static_cast<double>(at - pictures.classes.begin());
  }
  read.picked = std::move(found.rows);
  read.remarks = std::move(found.remarks);
  return pictures;
}

bool has_pictures(const ImageFolder& source) {
  PassedOver unread;
  return !pictures_in(source.directory.text, unread).empty();
}

Examples find_new_pictures(const ImageFolder& source, bool passes_over_bad) {
  PassedOver passed_over;
  std::vector<std::string> files = pictures_in(source.directory.text, passed_over);
  if (files.empty()) {
    throw Error(
        fmt::format("{}: expected pictures as PNG, JPEG, WebP, BMP, GIF or TIFF, found none", source.directory.text));
  }
  Examples examples = unlabelled(source, std::move(files), passes_over_bad);
  examples.inputs.front().array.remarks = passed_over.remarks(source.directory.text, "right in this folder");
  return examples;
}

Examples new_pictures(const ImageFolder& form, std::vector<std::string> files, bool passes_over_bad) {
  ImageFolder source = form;
  source.directory.text = files.front();
  return unlabelled(source, std::move(files), passes_over_bad);
}

}  // namespace mirrortrain::data
