#include "cli/look_at_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "config/document.h"
#include "config/scalar.h"
#include "data/csv_file.h"
#include "data/input.h"
#include "data/load.h"
#include "data/picture.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

/// Words that a one_hot column may have; a label, to be a class.
constexpr std::size_t kMostWords = 20, kMostClasses = 1000;

/// What a column of a table holds.
struct Column {
  std::string name;
  bool has_numbers = true, has_empty = false;
  std::optional<double> last;  ///< number
  bool counts = true;          ///< its numbers are each one more than the one before
  bool numbers_rows() const { return has_numbers && counts && !has_empty; }
  std::set<std::string> words;  ///< up to one more than kMostWords
};

std::vector<Column> columns_of(const std::string& path, const data::Csv& csv, bool& has_header) {
  data::CsvFile file(path, csv);
  const data::FirstLine& line = file.first_line();
  has_header = !line.header.empty();
  std::vector<Column> columns;
  for (std::int64_t i = 0; i < line.columns; ++i)
    columns.push_back({has_header ? line.header[static_cast<std::size_t>(i)] : std::to_string(i)});
  data::CsvText& text = file.text();
  for (std::size_t at = 0; !text.at_end(); at = 0) {
    data::CsvText::After after = data::CsvText::After::kCell;
    for (; after == data::CsvText::After::kCell && at < columns.size(); ++at) {
      Column& column = columns[at];
      if (text.empty_cell()) {
        column.has_empty = true;
      } else if (const auto number = column.has_numbers ? text.whole_number<double>() : std::nullopt) {
        column.counts = column.counts && (!column.last || *number == *column.last + 1);
        column.last = number;
      } else {
        column.has_numbers = false;
        const std::string word = text.cell();
        if (column.words.size() <= kMostWords) column.words.insert(word);
      }
      after = text.next();
    }
    if (after != data::CsvText::After::kLine || at != columns.size()) {
      throw Error(fmt::format("{}:{}: expected {} cells as in the first line", path, text.line(text.position()),
                              columns.size()));
    }
  }
  return columns;
}

/// Whether what is read with points has a column in which every word is a number with a comma, as "1,5".
bool has_decimal_commas(const std::vector<Column>& columns, char delimiter) {
  const auto is_number = [](const std::string& word) {
    data::CsvText text(word, ';', ',');
    return text.whole_number<double>() && text.at_end();
  };
  // Quoted between commas, "1,500" may be a thousand and a half, but "1,5" is none.
  const auto has_fraction = [&](const std::string& word) {
    return delimiter != ',' || (word.find(',') != std::string::npos && word.size() - word.find(',') != 4);
  };
  return std::ranges::any_of(columns, [&](const Column& column) {
    return !column.has_numbers && std::ranges::all_of(column.words, is_number) &&
           std::ranges::any_of(column.words, has_fraction);
  });
}

std::size_t label_column(const std::vector<Column>& columns, const std::optional<std::string>& label,
                         const std::string& path) {
  const auto find = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(columns, name, &Column::name) - columns.begin());
  };
  if (label) {
    std::vector<std::string> names;
    for (const Column& column : columns) names.push_back(column.name);
    if (find(*label) < columns.size()) return find(*label);
    throw UsageError(
        fmt::format("--label {}: {} has no such column{}", *label, path, config::suggestion(*label, names)));
  }
  for (const char* usual : {"label", "class", "target", "y"}) {
    if (find(usual) < columns.size()) return find(usual);
  }
  return columns.size() - 1;
}

/// Whole numbers from 0 that are few enough to be classes: how many; else 0.
std::int64_t classes_of(const data::Dataset& train) {
  std::set<double> different;
  return data::with_element_type(train.labels().dtype, [&](auto* type) -> std::int64_t {
    using T = std::remove_pointer_t<decltype(type)>;
    if (train.labels().row_elements() != 1) return 0;
    for (const T label : train.labels().template span<T>()) {
      const auto value = static_cast<double>(label);
      if (value < 0 || value != std::floor(value) || value >= static_cast<double>(kMostClasses)) return 0;
      different.insert(value);
    }
    const auto largest = static_cast<std::int64_t>(*different.rbegin());
    // Numbers with gaps, and as many as there are examples, are counts rather than classes.
    return static_cast<std::int64_t>(different.size()) * 2 > largest && different.size() <= 100 ? largest + 1 : 0;
  });
}

/// Whether every label is a vector of zeros with a single 1.
bool has_one_hot_labels(const data::Dataset& train) {
  const data::Array& labels = train.labels();
  const auto width = static_cast<std::size_t>(labels.row_elements());
  if (labels.row_shape().rank() != 1 || width < 2) return false;
  return data::with_element_type(labels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto all = labels.template span<T>();
    for (std::size_t row = 0; row + width <= all.size(); row += width) {
      std::size_t ones = 0, zeros = 0;
      for (const T label : all.subspan(row, width)) {
        ones += label == T{1} ? 1 : 0;
        zeros += label == T{0} ? 1 : 0;
      }
      if (ones != 1 || zeros + 1 != width) return false;
    }
    return true;
  });
}

void describe(const data::DataOptions& options, DataLook& look) {
  const data::Splits splits = data::load(options, 0, nullptr);
  look.examples = splits.train.rows();
  look.features = splits.train.features().row_shape();
  look.names = splits.adapted.classes;
  look.classes = look.names.empty() ? classes_of(splits.train) : static_cast<std::int64_t>(look.names.size());
  look.label = splits.train.labels().row_shape();
  look.is_one_hot = look.names.empty() && has_one_hot_labels(splits.train);
  if (look.is_one_hot) look.classes = look.label[0];
  const bool is_of_bytes = splits.train.features().dtype == DType::kUint8 || splits.train.source() != nullptr;
  if (is_of_bytes) {
    look.scale = 1.0 / 255;
  } else if (look.features.rank() == 1 && splits.train.features().dtype == DType::kFloat32) {
    look.is_normalized = true;
  }
}

DataLook look_at_table(const std::string& path, const std::optional<std::string>& wanted) {
  bool has_header = false;
  data::Csv csv;
  csv.file = config::Path{path};
  std::vector<Column> columns = columns_of(path, csv, has_header);
  if (has_decimal_commas(columns, data::CsvFile(path, csv).text().delimiter())) {
    csv.decimal = ",";
    columns = columns_of(path, csv, has_header);
  }
  const std::size_t label = label_column(columns, wanted, path);
  const auto column_of = [&](std::size_t i) -> data::CsvColumn {
    if (has_header) return columns[i].name;
    return static_cast<std::int64_t>(i);
  };
  DataLook look;
  csv.labels = has_header ? data::CsvColumns(columns[label].name) : data::CsvColumns(static_cast<std::int64_t>(label));
  std::vector<data::CsvColumn> features;
  std::vector<std::string> listed, encodings;
  bool has_empty = false, leaves_out = false;
  const auto why_not = [&](const Column& column) -> std::string {
    if (!column.has_numbers && column.words.size() > kMostWords) {
      return fmt::format("it has more than {} different words", kMostWords);
    }
    return column.numbers_rows() && columns.size() > 2 ? "it numbers the rows" : "";
  };
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i == label) continue;
    const Column& column = columns[i];
    if (const std::string why = why_not(column); !why.empty()) {
      look.remarks.push_back(fmt::format("{} is left out: {}", yaml_text(column.name), why));
      leaves_out = true;
      continue;
    }
    has_empty = has_empty || column.has_empty;
    features.push_back(column_of(i));
    listed.push_back(has_header ? yaml_text(column.name) : std::to_string(i));
    if (column.has_numbers) continue;
    csv.encoding.entries.emplace_back(column.name, data::OneHotEncoding{});
    encodings.push_back(fmt::format("{}: one_hot", has_header ? yaml_text(column.name) : std::to_string(i)));
  }
  if (features.empty()) throw UsageError(fmt::format("{}: no column is left for features beside the label", path));
  look.train = fmt::format("{{format: csv, file: {}, labels: {}", yaml_text(path),
                           has_header ? yaml_text(columns[label].name) : std::to_string(label));
  if (leaves_out) {
    csv.features = features;
    look.train += fmt::format(", features: [{}]", fmt::join(listed, ", "));
  }
  if (!encodings.empty()) look.train += fmt::format(", encoding: {{{}}}", fmt::join(encodings, ", "));
  if (csv.decimal == ",") look.train += ", decimal: \",\"";
  if (has_empty) {
    csv.missing = data::MissingIsMean{};
    look.train += ", missing: mean";
    look.remarks.push_back("empty cells take the mean of their column");
  }
  look.train += "}";
  data::DataOptions options;
  options.train.value = csv;
  describe(options, look);
  return look;
}

/// A size for all pictures: theirs, where they agree, else a square of about the middle one's height, at most 128.
std::array<std::int64_t, 2> common_size(const data::ImageFolder& folder) {
  const data::FoundPictures found = data::find_pictures(folder, nullptr);
  std::vector<std::int64_t> heights, widths;
  for (std::int64_t row = 0; row < found.examples.features.rows(); ++row) {
    const std::string file = found.examples.source->row_text(row);
    const data::Bytes bytes = data::PlainFile(file).read_whole();
    const data::PictureSize size = data::picture_size({bytes.data(), bytes.size()}, file);
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

DataLook look_at_folder(const std::string& path) {
  data::ImageFolder folder;
  folder.directory = {path};
  folder.image_size = {{1, 1}};
  folder.image_size = common_size(folder);
  DataLook look;
  look.train = fmt::format("{{format: image_folder, directory: {}, image_size: [{}, {}]}}", yaml_text(path),
                           (*folder.image_size)[0], (*folder.image_size)[1]);
  data::DataOptions options;
  options.train.value = folder;
  describe(options, look);
  return look;
}

/// The file whose name has `to` in the place of `from`; "" where there is none.
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

std::string idx_text(const std::string& images, const std::string& labels) {
  return fmt::format("{{format: idx, images: {}, labels: {}}}", yaml_text(images), yaml_text(labels));
}

DataLook look_at_idx(const std::string& images) {
  const std::string labels = sibling(images, {{"images", "labels"}, {"idx3", "idx1"}});
  if (labels.empty()) {
    throw UsageError(
        fmt::format("{}: expected an images file as train-images-idx3-ubyte.gz with its labels beside it, "
                    "train-labels-idx1-ubyte.gz",
                    images));
  }
  DataLook look;
  look.train = idx_text(images, labels);
  const std::string test_images = sibling(images, {{"train", "t10k"}});
  const std::string test_labels = test_images.empty() ? "" : sibling(labels, {{"train", "t10k"}});
  if (!test_labels.empty()) look.test = idx_text(test_images, test_labels);
  data::DataOptions options;
  options.train.value = data::Idx{config::Path{images}, config::Path{labels}};
  describe(options, look);
  return look;
}

DataLook look_at_npz(const std::string& path) {
  const auto attempt = [&](const std::string& x, const std::string& y) {
    DataLook look;
    look.train = fmt::format("{{format: npz, file: {}, features: {}, labels: {}}}", yaml_text(path), x, y);
    data::DataOptions options;
    options.train.value = data::Npz{config::Path{path}, x, y};
    describe(options, look);
    return look;
  };
  try {
    return attempt("x", "y");
  } catch (const Error&) {
    DataLook look = attempt("x_train", "y_train");
    look.test = fmt::format("{{format: npz, file: {}, features: x_test, labels: y_test}}", yaml_text(path));
    data::DataOptions options;
    options.train.value = data::Npz{config::Path{path}, "x_test", "y_test"};
    try {
      data::load(options, 0, nullptr);
    } catch (const Error&) {
      look.test.clear();
    }
    return look;
  }
}

}  // namespace

std::string yaml_text(const std::string& text) {
  std::string written = config::to_yaml(config::text_value(text));
  while (!written.empty() && written.back() == '\n') written.pop_back();
  return written;
}

DataLook look_at_data(const std::string& path, const std::optional<std::string>& label) {
  const std::string ending = fs::path(path).extension().string();
  const bool is_table = ending == ".csv" || ending == ".tsv";
  if (!fs::exists(path)) throw UsageError(fmt::format("{}: there is no such file or folder", path));
  if (label && !is_table) throw UsageError(fmt::format("--label names a column of a .csv file, and {} is none", path));
  if (fs::is_directory(path)) return look_at_folder(path);
  if (is_table) return look_at_table(path, label);
  if (ending == ".npz") return look_at_npz(path);
  if (fs::path(path).filename().string().find("idx") != std::string::npos) return look_at_idx(path);
  throw UsageError(
      fmt::format("{}: expected a .csv or .tsv table, a folder with a folder of pictures for each class, an "
                  "IDX images file or an .npz archive",
                  path));
}

}  // namespace mirrortrain::cli
