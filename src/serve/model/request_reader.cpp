#include "serve/model/request_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/utf8.h"
#include "data/loading/new_data.h"
#include "data/loading/picture_form.h"
#include "data/pictures/picture.h"
#include "train/session/run.h"
#include "train/session/run_data.h"

namespace mirrortrain {
namespace {

/// Encoded pictures of a request.
class RequestPictures : public data::EncodedPictures {
 public:
  RequestPictures(std::string origin, std::span<const std::string> files, std::int64_t first)
      : origin_(std::move(origin)), files_(files), first_(first) {}
  std::int64_t rows() const override { return std::ssize(files_); }
  void read(std::int64_t row, std::vector<std::byte>& to) const override {
    const std::string& file = files_[static_cast<std::size_t>(row)];
    to.resize(file.size());
    std::memcpy(to.data(), file.data(), file.size());
  }
  std::uint64_t stored_bytes(std::int64_t row) const override { return files_[static_cast<std::size_t>(row)].size(); }
  std::string row_text(std::int64_t row) const override {
    return fmt::format("{}: example {} (counting from 0)", origin_, first_ + row);
  }
  std::string identity() const override { return origin_; }

 private:
  std::string origin_;
  std::span<const std::string> files_;
  std::int64_t first_;
};

data::Array rows_of(const data::Array& array, std::int64_t first, std::int64_t count) {
  if (count == array.rows()) return array.shared();
  data::Array part(array.dtype, array.row_shape().with_rows(count), array.origin);
  const std::size_t bytes = part.bytes.size() / static_cast<std::size_t>(count);
  std::memcpy(part.bytes.data(), array.bytes.data() + static_cast<std::size_t>(first) * bytes, part.bytes.size());
  return part;
}

/// Pixels as pictures in files become when they are read.
data::Array resized(const data::Array& pixels, const std::array<std::int64_t, 2>& size) {
  const Shape row = pixels.row_shape();
  const std::int64_t channels = row.rank() == 3 ? row[2] : 1;
  data::Array to(DType::kFloat32, {pixels.rows(), size[0], size[1], channels}, pixels.origin);
  const auto from_elements = static_cast<std::size_t>(row.elements());
  const auto to_elements = static_cast<std::size_t>(to.row_elements());
  std::vector<float> picture(from_elements);
  data::with_element_type(pixels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (std::size_t i = 0; i < static_cast<std::size_t>(pixels.rows()); ++i) {
      std::ranges::transform(pixels.span<T>().subspan(i * from_elements, from_elements), picture.begin(),
                             [](T number) { return static_cast<float>(number); });
      data::resize_bilinear(picture, row[0], row[1], size[0], size[1],
                            to.span<float>().subspan(i * to_elements, to_elements));
    }
  });
  return to;
}

}  // namespace

RequestReader::RequestReader(const CheckedConfiguration& checked, data::Adapted adapted,
                             std::vector<ServedInput> inputs, std::size_t most_bytes)
    : checked_(checked), inputs_(std::move(inputs)), most_bytes_(most_bytes) {
  preprocessing_ = adapted_preprocessing(checked, adapted);
  spec_ = data::spec_before_bins(checked.examples, preprocessing_);
  wanted_ = data::wanted_by(&spec_, preprocessing_);
  for (const data::InputSpec& input : checked.examples.inputs) {
    const data::TableInput* const columns = adapted.table ? adapted.table->find_input(input.name) : nullptr;
    forms_.push_back(data::picture_form(checked.values().data.train.value, columns, input.name));
    one_by_one_ = one_by_one_ || (forms_.back() && !forms_.back()->image_size);
  }
  if (adapted.table) table_.emplace(checked.values().data, std::move(adapted));
}

ReadyExamples RequestReader::read(const std::vector<Tensor>& tensors) const {
  const Given given = arranged(tensors);
  ReadyExamples ready;
  ready.rows = given.front()->rows();
  ready.inputs.resize(checked_.examples.inputs.size());
  const std::int64_t together = one_by_one_ ? 1 : ready.rows;
  try {
    require_possible_pictures(given);
    for (std::int64_t first = 0; first < ready.rows; first += together) {
      const std::int64_t count = std::min(together, ready.rows - first);
      append(features_of(given, first, count), count, ready);
    }
  } catch (const Refused&) {
    throw;
  } catch (const Error& error) {
    throw Refused(error.what());
  }
  return ready;
}

/// A small file may have a large picture, which takes long to decode.
void RequestReader::require_possible_pictures(const Given& given) const {
  constexpr std::size_t kBytesOfPixel = 3;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (inputs_[i].kind != ServedInput::Kind::kPictures || !given[i]->is_text) continue;
    for (std::size_t row = 0; row < given[i]->texts.size(); ++row) {
      const std::string& file = given[i]->texts[row];
      const data::PictureSize size =
          data::picture_size(std::as_bytes(std::span(file)),
                             fmt::format("input '{}': example {} (counting from 0)", inputs_[i].name, row));
      bytes += static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width) * kBytesOfPixel;
      if (bytes <= most_bytes_) continue;
      throw Refused(fmt::format("input '{}': the pictures have more than {} MiB of pixels; send fewer or smaller ones",
                                inputs_[i].name, most_bytes_ >> 20),
                    413);
    }
  }
}

RequestReader::Given RequestReader::arranged(const std::vector<Tensor>& tensors) const {
  Given given(inputs_.size(), nullptr);
  std::vector<std::string> names, missing;
  for (const ServedInput& input : inputs_) names.push_back(input.name);
  for (const Tensor& tensor : tensors) {
    const auto found = std::ranges::find(names, tensor.name);
    if (found == names.end()) {
      throw Refused(
          fmt::format("there is no input '{}'; the inputs are '{}'", shortened(tensor.name), fmt::join(names, "', '")));
    }
    const Tensor*& place = given[static_cast<std::size_t>(found - names.begin())];
    if (place != nullptr) throw Refused(fmt::format("input '{}' is given twice", tensor.name));
    place = &tensor;
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] == nullptr) missing.push_back(names[i]);
  }
  if (!missing.empty()) throw Refused(fmt::format("the request has no input '{}'", fmt::join(missing, "', '")));
  for (std::size_t i = 0; i < given.size(); ++i) {
    // The first axis, of the examples, is easily forgotten.
    const std::vector<std::int64_t>& wanted = inputs_[i].shape;
    const bool has_more = std::ranges::any_of(wanted, [](std::int64_t extent) { return extent > 1; });
    if (!given[i]->is_text && given[i]->shape.size() == 1 && wanted.size() > 1 && has_more) {
      throw Refused(fmt::format("input '{}': expected the shape [examples, {}], found [{}]", names[i],
                                fmt::join(std::span(wanted).subspan(1), ", "), given[i]->rows()));
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]->rows() != given.front()->rows()) {
      throw Refused(fmt::format("input '{}': {} examples, input '{}': {}; give the same number of each", names.front(),
                                given.front()->rows(), names[i], given[i]->rows()));
    }
    if (given[i]->is_text && inputs_[i].kind == ServedInput::Kind::kNumbers) {
      throw Refused(fmt::format("input '{}': expected numbers, found BYTES", names[i]));
    }
  }
  return given;
}

std::vector<data::Features> RequestReader::features_of(const Given& given, std::int64_t first,
                                                       std::int64_t count) const {
  std::vector<data::Features> features;
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const std::string& name = checked_.examples.inputs[i].name;
    const auto place = std::ranges::find(inputs_, name, &ServedInput::name);
    const bool has_tensor = place != inputs_.end();
    const Tensor* const tensor = has_tensor ? given[static_cast<std::size_t>(place - inputs_.begin())] : nullptr;
    if (forms_[i]) {
      features.push_back(pictures_of(*tensor, *forms_[i], first, count));
    } else if (!table_) {
      features.push_back({"", rows_of(tensor->numbers, first, count)});
    } else {
      continue;
    }
    features.back().name = name;
  }
  if (features.size() == forms_.size()) return features;
  for (data::Features& one : table_->read(inputs_, given, first, count)) {
    if (one.name.empty()) one.name = checked_.examples.inputs.front().name;
    features.push_back(std::move(one));
  }
  return features;
}

data::Features RequestReader::pictures_of(const Tensor& tensor, const data::PictureForm& form, std::int64_t first,
                                          std::int64_t count) const {
  const std::string origin = fmt::format("input '{}'", tensor.name);
  if (tensor.is_text) {
    if (std::ssize(tensor.texts) != tensor.rows()) {
      throw Refused(fmt::format("{}: expected one encoded picture for each example", origin));
    }
    const auto files =
        std::span(tensor.texts).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    return data::decoded_when_asked(std::make_shared<RequestPictures>(origin, files, first), form, origin);
  }
  data::Array pixels = rows_of(tensor.numbers, first, count);
  const Shape row = pixels.row_shape();
  if (row.rank() != 2 && row.rank() != 3) {
    throw Refused(
        fmt::format("{}: expected pictures, encoded as BYTES or as pixels [examples, height, width, "
                    "channels], found the shape {}",
                    origin, pixels.shape.text()));
  }
  const std::int64_t channels = row.rank() == 3 ? row[2] : 1, wanted = form.color == data::PictureColor::kGray ? 1 : 3;
  if (channels != wanted) {  // before they are resized: the memory for that grows with them
    throw Refused(fmt::format("{}: expected pixels of {} channel{}, [examples, height, width, {}], found the shape {}",
                              origin, wanted, wanted == 1 ? "" : "s", wanted, pixels.shape.text()));
  }
  const bool has_size = !form.image_size || (row[0] == (*form.image_size)[0] && row[1] == (*form.image_size)[1]);
  return {"", has_size ? std::move(pixels) : resized(pixels, *form.image_size)};
}

void RequestReader::append(std::vector<data::Features> features, std::int64_t expected, ReadyExamples& to) const {
  const data::Dataset dataset =
      data::new_examples({std::move(features), {}}, wanted_, data::BadExamples(data::OnBadExample::kError));
  const data::Feeder feeder(dataset, preprocessing_, checked_.examples, {.ahead = {.memory = 0, .threads = 0}});
  const std::int64_t rows = dataset.rows();
  if (rows != expected) {
    throw std::logic_error(fmt::format("of {} examples of a request, {} were read", expected, rows));
  }
  data::BatchBuffers buffers;
  for (std::size_t i = 0; i < to.inputs.size(); ++i) {
    const Shape shape = checked_.examples.inputs[i].shape.with_rows(rows);
    std::vector<float>& numbers = to.inputs[i];
    const std::size_t before = numbers.size();
    numbers.resize(before + static_cast<std::size_t>(shape.elements()));
    buffers.inputs.push_back({DType::kFloat32, shape, reinterpret_cast<std::byte*>(numbers.data() + before)});
  }
  std::vector<std::vector<std::byte>> labels;
  for (const data::LabelSpec& label : checked_.examples.labels) {
    const Shape shape = label.shape.with_rows(rows);
    labels.emplace_back(static_cast<std::size_t>(shape.elements()) * size_of(label.dtype));
    buffers.outputs.push_back({{label.dtype, shape, labels.back().data()}});
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  feeder.fill(all, buffers);
}

}  // namespace mirrortrain
