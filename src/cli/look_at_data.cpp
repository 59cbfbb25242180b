#include "cli/look_at_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "base/error.h"
#include "config/document.h"
#include "config/scalar.h"
#include "data/csv_file.h"
#include "data/input.h"
#include "data/load.h"
#include "data/mistaken_number.h"
#include "data/picture.h"
#include "data/zip.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

/// Words that a one_hot column may have; a label, to be a class.
constexpr std::size_t kMostWords = 20, kMostClasses = 1000;

/// Values of a column that are compared with each other.
constexpr std::size_t kMostValues = 100'000;

/// What a column of a table holds.
struct Column {
  std::string name;
  std::int64_t numbers = 0, empty = 0;
  std::map<std::string, std::int64_t> words, marks;  ///< how often each occurs; marks: of missing values
  std::set<double> different;                        ///< numbers, up to kMostValues
  double sum = 0, squares = 0;

  bool has_numbers() const { return words.empty() && numbers > 0; }
  bool has_words() const { return !words.empty(); }
  std::int64_t rows() const {
    std::int64_t all = numbers + empty;
    for (const auto& [word, count] : words) all += count;
    for (const auto& [mark, count] : marks) all += count;
    return all;
  }
  bool has_missing() const { return empty > 0 || !marks.empty(); }
  /// Whether each row has another whole number, hardly more than there are rows; of a column without a name, any.
  bool numbers_rows() const {
    if (!has_numbers() || has_missing() || std::ssize(different) != numbers) return false;
    const bool whole = std::ranges::all_of(different, [](double value) { return value == std::floor(value); });
    const bool has_no_name = name.empty() || name.starts_with("Unnamed: ");
    const double range = *different.rbegin() - *different.begin() + 1;
    return whole && *different.begin() >= 0 && (has_no_name || range <= 1.5 * static_cast<double>(numbers));
  }
};

std::vector<Column> columns_of(const std::string& path, data::Csv& csv, DataLook& look) {
  data::CsvFile file(path, csv);
  const data::FirstLine& line = file.first_line();
  const bool has_header = !line.header.empty();
  for (const std::string& remark : file.remarks()) {
    look.remarks.push_back(remark);
    csv.header = has_header;
  }
  std::vector<Column> columns(static_cast<std::size_t>(line.columns));
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].name = has_header ? line.header[i] : std::to_string(i);
  data::CsvText& text = file.text();
  for (std::size_t at = 0; !text.at_end(); at = 0) {
    if (file.repeats_header()) {
      text.pass_row(text.position());
      continue;
    }
    const char* const row = text.position();
    data::CsvText::After after = data::CsvText::After::kCell;
    for (; after == data::CsvText::After::kCell && at < columns.size(); ++at) {
      Column& column = columns[at];
      if (text.empty_cell()) {
        ++column.empty;
      } else if (const auto number = text.whole_number<double>()) {
        ++column.numbers;
        column.sum += *number;
        column.squares += *number * *number;
        if (column.different.size() < kMostValues) column.different.insert(*number);
      } else {
        const std::string word = text.cell();
        ++(data::looks_missing(word) ? column.marks : column.words)[word];
      }
      after = text.next();
    }
    if (after != data::CsvText::After::kLine || at != columns.size()) {
      const std::string found = at < columns.size() ? std::to_string(at) : "more";
      throw Error(fmt::format("{}:{}: expected {} cell{} as in the first line, found {}", path, text.line(row),
                              columns.size(), columns.size() == 1 ? "" : "s", found));
    }
  }
  for (Column& column : columns) {  // words among words, as Namibia's NA
    if (column.has_words()) column.words.merge(std::exchange(column.marks, {}));
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
    return column.has_words() && std::ranges::all_of(column.words | std::views::keys, is_number) &&
           std::ranges::any_of(column.words | std::views::keys, has_fraction);
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
  if (look.classes == 1) look.remarks.push_back("every example is of one class: there is nothing to tell apart yet");
  const bool is_of_bytes = splits.train.features().dtype == DType::kUint8 || splits.train.source() != nullptr;
  if (is_of_bytes) {
    look.scale = 1.0 / 255;
  } else if (look.features.rank() == 1 &&
             (splits.train.features().dtype == DType::kFloat32 || splits.train.features().dtype == DType::kFloat64)) {
    look.is_normalized = true;
  }
}

/// Why a column is no feature; "" where it is one.
std::string why_left_out(const Column& column, std::size_t columns, const data::Csv& csv) {
  constexpr std::int64_t kFewNumbers = 8;
  if (!column.has_words() && column.numbers == 0) return "it has no value";
  if (column.has_numbers() && column.has_missing() && column.numbers < kFewNumbers &&
      2 * column.numbers < column.rows()) {
    return "it has hardly any value";
  }
  if (column.has_words()) {
    // Numbers as people write them are no words.
    const std::string& word = column.words.begin()->first;
    const bool are_numbers = std::ranges::all_of(column.words | std::views::keys, [&](const std::string& one) {
      return !data::mistaken_number(one, csv.decimal.front()).empty();
    });
    if (are_numbers) {
      return fmt::format("'{}' is no number to read; {}", word, data::mistaken_number(word, csv.decimal.front()));
    }
    const bool is_mostly_numbers = column.numbers > kFewNumbers && std::ssize(column.words) * 10 < column.numbers;
    if (is_mostly_numbers && column.different.size() > kMostWords) {
      return fmt::format("beside numbers it has '{}', which is none; correct it, or list it in missing_values", word);
    }
  }
  if (column.words.size() + (column.numbers > 0 && column.has_words() ? column.different.size() : 0) > kMostWords) {
    return fmt::format("it has more than {} different words", kMostWords);
  }
  return column.numbers_rows() && columns > 2 ? "it numbers the rows" : "";
}

/// A column of words; with the words where some are so rare that the training part may lack one.
std::string encoding_text(const Column& column, const std::string& key, const std::set<std::string>& marks,
                          data::OneHotEncoding& encoding) {
  constexpr std::int64_t kRare = 12;
  std::map<std::string, std::int64_t> words = column.words;
  std::int64_t empty = column.empty;
  for (const std::string& mark : marks) {
    if (const auto found = words.find(mark); found != words.end()) {
      empty += found->second;
      words.erase(found);
    }
  }
  if (empty > 0) words[""] += empty;
  // A number among words is a word as it is written, which is not kept here.
  const bool is_rare =
      std::ranges::any_of(words | std::views::values, [](std::int64_t count) { return count < kRare; });
  if (column.numbers > 0) encoding.unknown = data::UnknownWord::kOwnClass;
  if (!is_rare || column.numbers > 0) {
    return fmt::format("{}: {}", key, column.numbers > 0 ? "{one_hot: {unknown: own_class}}" : "one_hot");
  }
  encoding.words.emplace();
  std::vector<std::string> listed;
  for (const auto& [word, count] : words) {
    encoding.words->push_back(word);
    listed.push_back(word.empty() ? "\"\"" : yaml_text(word));
  }
  return fmt::format("{}: {{one_hot: {{words: [{}]}}}}", key, fmt::join(listed, ", "));
}

DataLook look_at_table(const std::string& path, const std::optional<std::string>& wanted) {
  DataLook look;
  data::Csv csv;
  csv.file = config::Path{path};
  try {
    const data::CsvFile first_look(path, csv);
  } catch (const data::MayBeHeader&) {
    csv.header = false;
    look.remarks.push_back(
        "the first line has numbers and is taken for an example; if it is a header, write header: true");
  }
  std::vector<Column> columns = columns_of(path, csv, look);
  if (has_decimal_commas(columns, data::CsvFile(path, csv).text().delimiter())) {
    csv.decimal = ",";
    look.remarks.clear();
    columns = columns_of(path, csv, look);
  }
  const bool has_header = !data::CsvFile(path, csv).first_line().header.empty();
  const std::size_t label = label_column(columns, wanted, path);
  const auto column_of = [&](std::size_t i) -> data::CsvColumn {
    if (has_header) return columns[i].name;
    return static_cast<std::int64_t>(i);
  };
  const auto key_of = [&](std::size_t i) { return has_header ? yaml_text(columns[i].name) : std::to_string(i); };
  csv.labels = has_header ? data::CsvColumns(columns[label].name) : data::CsvColumns(static_cast<std::int64_t>(label));
  std::set<std::string> marks;  // that are to be listed
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (const auto& [mark, count] : columns[i].marks) {
      const bool is_known = std::ranges::find(data::kMissingMarks, mark) != data::kMissingMarks.end();
      if (!is_known && columns[i].has_numbers()) marks.insert(mark);
    }
  }
  std::vector<data::CsvColumn> features;
  std::vector<std::string> listed, encodings, left_out;
  bool has_missing = false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i == label) continue;
    const Column& column = columns[i];
    if (const std::string why = why_left_out(column, columns.size(), csv); !why.empty()) {
      left_out.push_back(fmt::format("{} is left out: {}", key_of(i), why));
      continue;
    }
    has_missing = has_missing || column.has_missing() ||
                  std::ranges::any_of(marks, [&](const std::string& mark) { return column.words.contains(mark); });
    features.push_back(column_of(i));
    listed.push_back(key_of(i));
    if (column.has_numbers()) continue;
    data::OneHotEncoding encoding;
    encodings.push_back(encoding_text(column, key_of(i), marks, encoding));
    csv.encoding.entries.emplace_back(column.name, encoding);
  }
  if (features.empty()) {
    throw UsageError(fmt::format("{}: no column is left for features beside the label {}{}{}", path, key_of(label),
                                 left_out.empty() ? "" : ": ", fmt::join(left_out, "; ")));
  }
  look.train = fmt::format("{{format: csv, file: {}, labels: {}", yaml_text(path), key_of(label));
  if (csv.header) look.train += fmt::format(", header: {}", *csv.header);
  look.remarks.insert(look.remarks.end(), left_out.begin(), left_out.end());
  if (!left_out.empty()) {
    csv.features = features;
    look.train += fmt::format(", features: [{}]", fmt::join(listed, ", "));
  }
  if (!encodings.empty()) look.train += fmt::format(", encoding: {{{}}}", fmt::join(encodings, ", "));
  if (csv.decimal == ",") look.train += ", decimal: \",\"";
  if (has_missing) {
    csv.missing = data::MissingIsMean{};
    look.train += ", missing: mean";
    look.remarks.push_back("missing numbers take the mean of their column");
  }
  if (!marks.empty()) {
    csv.missing_values.emplace(marks.begin(), marks.end());
    std::vector<std::string> texts;
    for (const std::string& mark : marks) texts.push_back(fmt::format("\"{}\"", mark));
    look.train += fmt::format(", missing_values: [{}]", fmt::join(texts, ", "));
  }
  look.train += "}";
  const Column& labels = columns[label];
  look.skips_bad = labels.has_missing();
  if (look.skips_bad) look.remarks.push_back("rows without a label are skipped");
  if (labels.has_words() && !data::mistaken_number(labels.words.begin()->first, csv.decimal.front()).empty()) {
    look.remarks.push_back(fmt::format("labels such as '{}' are taken for classes; for numbers, {}",
                                       labels.words.begin()->first,
                                       data::mistaken_number(labels.words.begin()->first, csv.decimal.front())));
  }
  data::DataOptions options;
  options.train.value = csv;
  if (look.skips_bad) options.on_bad_example = data::OnBadExample::kSkip;
  describe(options, look);
  if (look.classes == 0 && labels.has_numbers()) {
    const auto count = static_cast<double>(labels.numbers);
    look.label_mean = labels.sum / count;
    if (labels.different.size() == 2) {
      look.remarks.push_back(fmt::format("the labels are {:g} and {:g} alone; if they are classes, write 0 and 1",
                                         *labels.different.begin(), *labels.different.rbegin()));
    }
    look.label_deviation = std::sqrt(std::max(0.0, labels.squares / count - look.label_mean * look.label_mean));
  }
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

/// The folder's only sub-folders, where they are splits, as train and val, with the classes in them; else empty.
std::map<std::string, fs::path> split_folders(const std::string& path) {
  const std::map<std::string, std::string> splits = {
      {"train", "train"},           {"training", "train"}, {"val", "validation"}, {"valid", "validation"},
      {"validation", "validation"}, {"test", "test"},      {"testing", "test"}};
  std::map<std::string, fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (!entry.is_directory() || entry.path().filename().string().starts_with('.')) continue;
    const auto split = splits.find(entry.path().filename().string());
    if (split == splits.end() || !found.emplace(split->second, entry.path()).second) return {};
  }
  return found.contains("train") ? found : std::map<std::string, fs::path>();
}

DataLook look_at_folder(const std::string& path) {
  std::map<std::string, fs::path> splits = split_folders(path);
  if (splits.empty()) splits["train"] = path;
  data::ImageFolder folder;
  folder.directory = {splits["train"].string()};
  folder.image_size = {{1, 1}};
  folder.image_size = common_size(folder);
  const auto text = [&](const std::string& split) {
    if (!splits.contains(split)) return std::string();
    return fmt::format("{{format: image_folder, directory: {}, image_size: [{}, {}]}}",
                       yaml_text(splits[split].string()), (*folder.image_size)[0], (*folder.image_size)[1]);
  };
  DataLook look;
  look.train = text("train");
  look.validation = text("validation");
  look.test = text("test");
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

/// What people call the arrays of features and labels.
constexpr auto kArrayNames = std::to_array<std::pair<const char*, const char*>>({{"x", "y"},
                                                                                 {"X", "y"},
                                                                                 {"X", "Y"},
                                                                                 {"x_train", "y_train"},
                                                                                 {"X_train", "y_train"},
                                                                                 {"X_train", "Y_train"},
                                                                                 {"train_x", "train_y"},
                                                                                 {"train_X", "train_y"},
                                                                                 {"train_images", "train_labels"},
                                                                                 {"train_data", "train_labels"},
                                                                                 {"train_features", "train_labels"},
                                                                                 {"images", "labels"},
                                                                                 {"data", "target"},
                                                                                 {"data", "targets"},
                                                                                 {"data", "labels"},
                                                                                 {"data", "label"},
                                                                                 {"features", "labels"},
                                                                                 {"features", "targets"},
                                                                                 {"inputs", "targets"},
                                                                                 {"inputs", "labels"},
                                                                                 {"inputs", "outputs"},
                                                                                 {"arr_0", "arr_1"}});

DataLook look_at_npz(const std::string& path) {
  std::vector<std::string> names = data::Zip(path).names();
  for (std::string& name : names) {
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
  }
  const auto has = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  const auto of_test = [](std::string name) {
    const std::size_t at = name.find("train");
    return at == std::string::npos ? std::string() : name.replace(at, 5, "test");
  };
  const auto text = [&](const std::string& x, const std::string& y) {
    return fmt::format("{{format: npz, file: {}, features: {}, labels: {}}}", yaml_text(path), yaml_text(x),
                       yaml_text(y));
  };
  const auto pair =
      std::ranges::find_if(kArrayNames, [&](const auto& one) { return has(one.first) && has(one.second); });
  if (pair == kArrayNames.end()) {
    throw UsageError(
        fmt::format("{}: its arrays are {}; expected names such as x and y, x_train and y_train or features and "
                    "labels: save them so, "
                    "or write a configuration by hand, with {}",
                    path, fmt::join(names, ", "), text("NAME", "NAME")));
  }
  DataLook look;
  look.train = text(pair->first, pair->second);
  data::DataOptions options;
  options.train.value = data::Npz{config::Path{path}, pair->first, pair->second};
  describe(options, look);
  const std::string x = of_test(pair->first), y = of_test(pair->second);
  if (x.empty() || !has(x) || !has(y)) return look;
  try {
    options.train.value = data::Npz{config::Path{path}, x, y};
    data::load(options, 0, nullptr);
    look.test = text(x, y);
  } catch (const Error&) {  // they are no such pair
  }
  return look;
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
