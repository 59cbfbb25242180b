#include "data/records/webdataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "base/blanks.h"
#include "base/error.h"
#include "base/utf8.h"
#include "config/scalar.h"
#include "data/files/input.h"
#include "data/files/unpacked_input.h"
#include "data/key_aliases.h"
#include "data/pictures/picture_files.h"
#include "data/records/sample_classes.h"
#include "data/records/sample_pictures.h"
#include "data/tables/word_list.h"

namespace mirrortrain::data {

std::pair<std::string, std::string> name_and_ending(const std::string& path) {
  const std::size_t folder = path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1;
  const std::size_t dot = path.find('.', folder);
  const bool is_of_archive = path.substr(folder).starts_with("__");
  if (dot == path.npos || dot == folder || is_of_archive) return {};
  return {path.substr(0, dot), in_lower_case(path.substr(dot + 1))};
}

namespace {

/// The files of a sample, by ending.
struct Sample {
  std::string name;
  std::map<std::string, TarEntry> files;
};

/// The samples of an archive, in order.
class Samples {
 public:
  Samples(const PositionedFile& file, const std::string& path) : path_(path), reader_(file, path) {}

  std::optional<Sample> next() {
    Sample sample = std::exchange(ahead_, {});
    while (auto entry = reader_.next()) {
      auto [name, ending] = name_and_ending(entry->name);
      if (name.empty()) continue;
      Sample& own = sample.name.empty() || sample.name == name ? sample : ahead_;
      own.name = std::move(name);
      const std::string of_archive = entry->name;
      if (!own.files.emplace(std::move(ending), *std::move(entry)).second) {
        throw Error(fmt::format("{}: the sample '{}' has '{}' twice; pack each sample once", path_,
                                shortened(own.name, 200), shortened(of_archive, 200)));
      }
      if (&own == &ahead_) return sample;
    }
    return sample.name.empty() ? std::nullopt : std::optional(std::move(sample));
  }
  bool has_end() const { return reader_.has_end(); }

 private:
  const std::string& path_;
  TarReader reader_;
  Sample ahead_;  ///< the first file of the next
};

class SampleReader {
 public:
  /// `labels`: null where they are numbers.
  SampleReader(const WebDataset& source, bool wants_labels, BadExamples* bad, const UnpackedFiles& cache,
               const SampleLabels* labels = nullptr)
      : source_(source), bad_(bad), cache_(cache) {
    const bool may_be_words = labels != nullptr && source.labels.one && !labels->are_numbers;
    if (may_be_words && labels->classes == nullptr) kind_ = Kind::kUnknown;
    if (may_be_words && labels->classes != nullptr && !labels->classes->empty()) known_ = labels->classes;
    if (known_ != nullptr) kind_ = Kind::kWords;
    for (const auto& [name, input] : source.inputs.entries) {
      inputs_.push_back({name, "inputs." + name + ".image", input.image, source.form_of(name)});
    }
    if (inputs_.empty()) inputs_.push_back({"", "image", source.image, source.form_of("")});
    for (Input& input : inputs_) input.pictures = std::make_shared<SamplePictures>(shards_);
    if (!wants_labels) return;
    if (source.labels.one) outputs_.push_back({"", "labels", *source.labels.one});
    for (const auto& [name, ending] : source.labels.named.entries) {
      outputs_.push_back({name, "labels." + name, ending});
    }
  }

  Examples read() {
    for (const std::string& path : expanded(source_.file, remarks_)) read_archive(path);
    const std::string& origin = parts_.front().origin;
    if (rows() == 0 && bad_ != nullptr && bad_->any()) std::move(*bad_).left_out(0, origin);
    if (rows() == 0) {
      throw Error(fmt::format(
          "{}: expected at least one sample, as 0001.jpg and 0001.cls beside each other, found none", origin));
    }
    Examples examples;
    for (const Input& input : inputs_) {
      examples.inputs.push_back(decoded_when_asked(input.pictures, input.form, origin, bad_ != nullptr));
      examples.inputs.back().name = input.name;
      settle(examples.inputs.back().array);
    }
    examples.inputs.front().array.remarks = std::move(remarks_);
    if (kind_ == Kind::kWords && known_ == nullptr) number_classes();
    if (outputs_.empty()) outputs_.push_back({"", "", "", std::vector<double>(static_cast<std::size_t>(rows()))});
    for (const Output& output : outputs_) {
      Array& labels = examples.outputs.emplace_back(output.name, Array(DType::kFloat64, {rows()}, origin)).array;
      std::ranges::copy(output.labels, labels.span<double>().begin());
      settle(labels);
    }
    return examples;
  }

  /// Those of the training data, once they are read.
  std::vector<std::string> take_classes() { return std::move(classes_); }

 private:
  struct Input {
    std::string name, key;
    std::optional<std::string> endings;
    PictureForm form;
    std::shared_ptr<SamplePictures> pictures{};
  };
  struct Output {
    std::string name, key, ending;
    std::vector<double> labels{};
  };

  std::int64_t rows() const { return inputs_.front().pictures->rows(); }

  void settle(Array& array) const {
    if (parts_.size() > 1) array.parts = parts_;
    if (rows() < all_) array.picked = picked_;
  }

  void read_archive(const std::string& path) {
    parts_.push_back({all_, path, 0});
    shards_->begin(path, open_input(path)->is_compressed() ? unpack_input(path, cache_) : nullptr, rows());
    Samples samples(*shards_->last().bytes, shards_->last().path);
    for (; const auto sample = samples.next(); ++all_) {
      try {
        add(*sample);
        picked_.push_back(all_);
      } catch (const Error& error) {
        const std::string text = fmt::format("{}: sample '{}' {}", path, shortened(sample->name, 200), error.what());
        if (bad_ == nullptr) throw Error(text);
        bad_->add(all_, text);
      }
    }
    if (samples.has_end()) return;
    remarks_.push_back(path + ": the archive does not end in blocks of zeros, as whole ones do; it may be truncated");
  }

  void add(const Sample& sample) {
    std::vector<const TarEntry*> pictures;
    for (const Input& input : inputs_) {
      pictures.push_back(&picture_in(sample, input));
      SamplePictures::require_possible(*pictures.back());  // before any is added, as all inputs have the same rows
    }
    std::vector<double> labels;
    for (const Output& output : outputs_) labels.push_back(label_in(sample, output));
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].pictures->add(*pictures[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].labels.push_back(labels[i]);
  }

  [[noreturn]] static void fail_at_ending(const Sample& sample, const std::string& endings, const std::string& key) {
    throw Error(fmt::format("has no '{}', but [{}]; say in '{}' which one to take", shortened(endings),
                            endings_of(sample), key));
  }

  static std::string endings_of(const Sample& sample) {
    std::vector<std::string> found;
    for (const auto& [ending, entry] : sample.files) found.push_back(ending);
    return shortened(fmt::format("{}", fmt::join(found, ", ")), 200);
  }

  static const TarEntry& picture_in(const Sample& sample, const Input& input) {
    if (!input.endings) return only_picture(sample, input);
    std::string_view rest = *input.endings;
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      const auto found = sample.files.find(in_lower_case(std::string(one)));
      if (found != sample.files.end()) return found->second;
    }
    fail_at_ending(sample, *input.endings, input.key);
  }

  /// The only file whose ending is a picture's.
  static const TarEntry& only_picture(const Sample& sample, const Input& input) {
    const TarEntry* found = nullptr;
    for (const auto& [ending, entry] : sample.files) {
      if (!is_picture_name("a." + ending)) continue;
      if (found != nullptr) {
        throw Error(fmt::format("has several pictures; say in '{}' which one to take, as {}: {}", input.key, input.key,
                                shortened(ending)));
      }
      found = &entry;
    }
    if (found == nullptr) throw Error(fmt::format("has no picture, but [{}]; complete it", endings_of(sample)));
    return *found;
  }

  /// What labels are; words only where there is one output.
  enum class Kind : std::uint8_t { kNumbers, kWords, kUnknown };

  /// The number of a label that is a word: of its class, or for now of its first appearance.
  double number_of_word(const std::string& text, const Output& output) {
    if (!may_name_class(text)) {
      throw Error(
          fmt::format("has '{}' as its '{}', expected a number or a word; write the number of the class, or its "
                      "name",
                      shortened(text), shortened(output.ending)));
    }
    if (known_ == nullptr) return static_cast<double>(words_.number_of(text));
    const auto found = std::ranges::lower_bound(*known_, text);
    if (found != known_->end() && *found == text) return static_cast<double>(found - known_->begin());
    throw Error(
        fmt::format("has the class '{}' as its '{}', which is none of the {} of the training data; correct or "
                    "remove it",
                    shortened(text), shortened(output.ending), known_->size()));
  }

  /// Numbers the words in their order, from those of their first appearance.
  void number_classes() {
    std::vector<double>& labels = outputs_.front().labels;
    std::vector<bool> is_used(static_cast<std::size_t>(words_.size()), false);  // by a sample that was not left out
    for (const double label : labels) is_used[static_cast<std::size_t>(label)] = true;
    for (std::size_t i = 0; i < is_used.size(); ++i) {
      if (is_used[i]) classes_.push_back(words_.words()[i]);
    }
    std::ranges::sort(classes_);
    for (double& label : labels) {
      const std::string& word = words_.words()[static_cast<std::size_t>(label)];
      label = static_cast<double>(std::ranges::lower_bound(classes_, word) - classes_.begin());
    }
  }

  double label_in(const Sample& sample, const Output& output) {
    const auto found = sample.files.find(in_lower_case(output.ending));
    if (found == sample.files.end()) fail_at_ending(sample, output.ending, output.key);
    constexpr std::uint64_t kMostOfLabel = 4096;
    const TarEntry& entry = found->second;
    if (entry.size > kMostOfLabel) {
      throw Error(fmt::format("has {} bytes as its '{}', expected a label of at most {}; name the ending of labels",
                              entry.size, shortened(output.ending), kMostOfLabel));
    }
    std::string text(static_cast<std::size_t>(entry.size), '\0');
    shards_->last().bytes->read(entry.offset, std::as_writable_bytes(std::span(text)));
    text = without_outer_blanks(text);
    if (kind_ == Kind::kWords) return number_of_word(text, output);
    double label = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
    const bool is_number = error == std::errc() && end == text.data() + text.size() && !text.empty();
    if (kind_ == Kind::kUnknown) {
      if (is_number) kind_ = Kind::kNumbers;
      if (!is_number) {
        const double number = number_of_word(text, output);
        kind_ = Kind::kWords;
        return number;
      }
    }
    if (is_number) return label;
    throw Error(fmt::format("has '{}' as its '{}', expected a number; write the number of the class", shortened(text),
                            shortened(output.ending)));
  }

  const WebDataset& source_;
  BadExamples* bad_;
  const UnpackedFiles& cache_;
  std::shared_ptr<RowFiles> shards_ = std::make_shared<RowFiles>();
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  Kind kind_ = Kind::kNumbers;
  WordList words_;                                   ///< of the training data's labels
  const std::vector<std::string>* known_ = nullptr;  ///< the classes of the training data, if these are others
  std::vector<std::string> classes_;
  std::vector<Array::Part> parts_;
  std::vector<std::string> remarks_;
  std::int64_t all_ = 0;              ///< with those left out
  std::vector<std::int64_t> picked_;  ///< the number of each row among all
};

}  // namespace

config::Section<SampleInput> SampleInput::section() {
  return config::Section<SampleInput>("The picture of a sample that an input of the model takes.")
      .key("image", &SampleInput::image, "Ending of the picture's name, as `jpg`, or several, as `jpg;png`.",
           config::required, config::non_empty)
      .key("image_size", &SampleInput::image_size,
           "Height and width to which pictures are resized; null: as `image_size` beside `inputs` says.",
           config::between(1, 1 << 15), kImageSizeAliases)
      .key("color", &SampleInput::color, "Three channels or one; null: as `color` beside `inputs` says.",
           kColorAliases);
}

PictureForm WebDataset::form_of(std::string_view input) const {
  const SampleInput* const own = inputs.find(input);
  if (own == nullptr) return {image_size, color};
  return {own->image_size ? own->image_size : image_size, own->color.value_or(color)};
}

FieldNames WebDataset::field_names() const { return names_of_fields(inputs, labels); }

config::Section<WebDataset> WebDataset::section() {
  return config::Section<WebDataset>(
             "Tar archives of samples, compressed or not: files beside each other whose names are the same up to the "
             "first dot, as 0001.jpg and 0001.cls. Pictures are decoded while the run continues, as numbers from 0 to "
             "255.")
      .key("file", &WebDataset::file, "Path of the archive; or a glob or a list of archives.", config::required,
           kFileAliases)
      .key(
          "image", &WebDataset::image,
          "Ending of the pictures' names, as `jpg`, or several, as `jpg;png`; null: that of the only picture that each "
          "sample has.",
          config::non_empty)
      .key("inputs", &WebDataset::inputs,
           "In place of `image`: the picture for each input of the model, as {INPUT: {image: ENDING}}.",
           config::excludes("image"))
      .key("labels", &WebDataset::labels,
           "Ending of the names of the files with the labels, each of which has a number or, as a class, a word as "
           "text; or one for each output of the model, as {OUTPUT: ENDING}, with numbers.",
           config::non_empty, kLabelsAliases)
      .key("image_size", &WebDataset::image_size,
           "Height and width to which pictures are resized (bilinear, without antialiasing); null: all are as large as "
           "the first.",
           config::between(1, 1 << 15), kImageSizeAliases)
      .key("color", &WebDataset::color, "Three channels or one.", kColorAliases);
}

Examples open_samples(const WebDataset& source, BadExamples* bad, const UnpackedFiles& cache) {
  return SampleReader(source, true, bad, cache).read();
}
bool may_name_class(std::string_view text) {
  return !text.empty() && text.front() != '{' && text.front() != '[' && text.find('\n') == text.npos &&
         why_not_text(text).empty();
}

ClassedSamples open_classed_samples(const WebDataset& source, const SampleLabels& labels, BadExamples* bad,
                                    const UnpackedFiles& cache) {
  SampleReader reader(source, true, bad, cache, &labels);
  Examples examples = reader.read();
  return {std::move(examples), reader.take_classes()};
}
Examples open_samples_without_labels(const WebDataset& source, BadExamples* bad, const UnpackedFiles& cache) {
  return SampleReader(source, false, bad, cache).read();
}

}  // namespace mirrortrain::data
