#include "strategy/steps/device_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "strategy/steps/step_buffers.h"

namespace mirrortrain {
namespace {

std::size_t row_bytes(const data::Array& array) {
  return static_cast<std::size_t>(array.row_elements()) * size_of(array.dtype);
}

void upload(Stream& stream, const Buffer& to, const void* from) {
  stream.copy(to.data(), static_cast<const std::byte*>(from), to.bytes());
  stream.synchronize();
}

}  // namespace

DeviceExamples::DeviceExamples(Device& device, const RowKernels& kernels, data::Cache cache)
    : device_(device), kernels_(kernels), cache_(cache), copies_(device.make_stream()) {
  for (Staging& staging : stagings_) {
    staging.copied = device_.make_event();
    staging.consumed = device_.make_event();
  }
}

template <class Visit>
void DeviceExamples::Source::for_each_place(const Visit& visit) {
  for (Input& input : inputs) visit(input.features);
  for (Output& output : outputs) {
    for (Place* const place : {&output.labels, &output.weights, &output.present}) {
      if (place->row_bytes > 0) visit(*place);
    }
  }
}

DeviceExamples::Source DeviceExamples::source_of(const data::Feeder& examples) {
  Source source;
  for (std::size_t i = 0; i < examples.inputs(); ++i) {
    source.inputs.emplace_back().features.row_bytes = row_bytes(examples.features(i));
  }
  for (std::size_t i = 0; i < examples.outputs(); ++i) {
    Output& output = source.outputs.emplace_back();
    output.labels.row_bytes = row_bytes(examples.labels(i));
    if (!examples.weights(i).empty()) output.weights.row_bytes = sizeof(float);
    if (!examples.present(i).empty()) output.present.row_bytes = sizeof(float);
  }
  return source;
}

void DeviceExamples::upload_affine(const data::Affine& affine, Input& input) {
  const std::size_t period = affine.period();
  std::vector<double> vectors = affine.shift;
  vectors.insert(vectors.end(), affine.scale.begin(), affine.scale.end());
  vectors.insert(vectors.end(), affine.offset.begin(), affine.offset.end());
  input.affine = device_.allocate(vectors.size() * sizeof(double));
  upload(*copies_, input.affine, vectors.data());
  const auto* const on_device = input.affine.as<double>();
  const auto all_are = [](const std::vector<double>& values, double value) {
    return std::all_of(values.begin(), values.end(), [&](double one) { return one == value; });
  };
  input.conversion = {on_device,
                      on_device + period,
                      on_device + 2 * period,
                      static_cast<std::int64_t>(period),
                      all_are(affine.shift, 0) && all_are(affine.scale, 1) && all_are(affine.offset, 0),
                      affine.needs_double()};
}

void DeviceExamples::make_resident(const data::Feeder& examples, Source& source) {
  const auto upload_numbers = [&](std::span<const float> numbers, Buffer& to, Place& place) {
    if (numbers.empty()) return;
    to = device_.allocate(numbers.size_bytes());
    upload(*copies_, to, numbers.data());
    place.resident = to.data();
  };
  for (std::size_t i = 0; i < source.inputs.size(); ++i) {
    source.inputs[i].features.resident = resident(examples.features(i));
  }
  for (std::size_t i = 0; i < source.outputs.size(); ++i) {
    Output& output = source.outputs[i];
    output.labels.resident = resident(examples.labels(i));
    upload_numbers(examples.weights(i), output.weights_on_device, output.weights);
    upload_numbers(examples.present(i), output.present_on_device, output.present);
  }
  source.is_resident = true;
}

std::size_t DeviceExamples::lay_out(Source& source, std::size_t rows) {
  std::size_t bytes = 0;
  source.for_each_place([&](Place& place) {
    place.staged_at = bytes;
    bytes += whole_lines(rows * place.row_bytes);
  });
  return bytes;
}

void DeviceExamples::add(const data::Feeder& examples, std::int64_t most_rows) {
  const auto [place, is_new] = sources_.try_emplace(&examples);
  if (!is_new) return;
  Source& source = place->second = source_of(examples);
  for (std::size_t i = 0; i < source.inputs.size(); ++i) upload_affine(examples.affine(i), source.inputs[i]);

  if (examples.is_stored() &&
      (cache_ == data::Cache::kDevice || (cache_ == data::Cache::kAuto && fits(examples.dataset())))) {
    try {
      make_resident(examples, source);
    } catch (const Error& error) {
      throw Error(fmt::format("data.cache: {} in the GPU's memory: {}; use `cache: host`", examples.features(0).origin,
                              error.what()));
    }
    return;
  }
  const std::size_t bytes = lay_out(source, static_cast<std::size_t>(most_rows));
  if (bytes <= staging_bytes_) return;
  staging_bytes_ = bytes;
  for (Staging& staging : stagings_) {
    staging.host = device_.allocate_host(bytes);
    staging.device = device_.allocate(bytes);
  }
}

void DeviceExamples::remove(const data::Feeder& examples) {
  const auto found = sources_.find(&examples);
  if (found == sources_.end()) return;
  if (found->second.is_resident) {
    for (std::size_t i = 0; i < examples.inputs(); ++i) arrays_.erase(examples.features(i).bytes.data());
    for (std::size_t i = 0; i < examples.outputs(); ++i) arrays_.erase(examples.labels(i).bytes.data());
  }
  sources_.erase(found);
}

/// Half of the free memory is left to the model, which allocates its memory later.
bool DeviceExamples::fits(const data::Dataset& dataset) const {
  std::size_t bytes = 0;
  const auto add = [&](const data::Array& array) {
    if (!arrays_.contains(array.bytes.data())) bytes += array.bytes.size();
  };
  for (const data::Features& input : dataset.inputs()) add(input.array);
  for (const data::Labels& output : dataset.outputs()) {
    add(output.array);
    // A weight, and whether there is a label, are one float32 each on the device.
    if (output.weights) bytes += static_cast<std::size_t>(output.weights->rows()) * sizeof(float);
    if (output.present) bytes += static_cast<std::size_t>(output.present->rows()) * sizeof(float);
  }
  return bytes <= device_.memory().free / 2;
}

const std::byte* DeviceExamples::resident(const data::Array& array) {
  const auto [place, is_new] = arrays_.try_emplace(array.bytes.data());
  if (is_new) {
    place->second = device_.allocate(array.bytes.size());
    upload(*copies_, place->second, array.bytes.data());
  }
  return place->second.data();
}

void DeviceExamples::begin(Stream& stream, const data::Feeder& examples, std::span<const data::BatchPart> parts,
                           std::span<std::int64_t> rows, std::int64_t epoch) {
  if (on_device(examples)) {
    auto next = rows.begin();
    for (const data::BatchPart& part : parts) {
      next = std::ranges::transform(part.rows(), next, [&](std::int64_t row) {
               return row + examples.dataset().first_row();
             }).out;
    }
    return;
  }
  staging_ = (staging_ + 1) % stagings_.size();
  Staging& staging = stagings_[staging_];
  staging.copied->synchronize();  // by the last step that used it
  Source& source = sources_.at(&examples);
  const std::size_t bytes = lay_out(source, rows.size());
  std::byte* const host = staging.host.data();
  std::size_t first = 0;
  for (const data::BatchPart& part : parts) {
    stage(source, host, first, examples, part, epoch);
    first += part.count;
  }
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  copies_->wait(*staging.consumed);
  copies_->copy(staging.device.data(), staging.host.data(), bytes);
  copies_->record(*staging.copied);
  stream.wait(*staging.copied);
}

/// Writes a part of the batch to the host's staging memory, from its row `first` on.
void DeviceExamples::stage(const Source& source, std::byte* host, std::size_t first, const data::Feeder& examples,
                           const data::BatchPart& part, std::int64_t epoch) {
  const auto staged = [&](const Place& place) { return host + place.staged_at + first * place.row_bytes; };
  const auto numbers = [&](const Place& place) {
    return place.row_bytes == 0 ? nullptr : reinterpret_cast<float*>(staged(place));
  };
  staged_inputs_.clear();
  staged_outputs_.clear();
  for (const Input& input : source.inputs) staged_inputs_.push_back(staged(input.features));
  for (const Output& output : source.outputs) {
    staged_outputs_.push_back({staged(output.labels), numbers(output.weights), numbers(output.present)});
  }
  examples.copy_examples(part, staged_inputs_, staged_outputs_, epoch);
}

/// An input and an output are gathered by one launch as long as there are both.
void DeviceExamples::gather(Stream& stream, const data::Feeder& examples, const std::int64_t* choice,
                            std::int64_t count, const data::BatchBuffers& to) {
  const Source& source = sources_.at(&examples);
  const auto data_of = [&](const Place& place) {
    return source.is_resident ? place.resident : stagings_[staging_].device.data() + place.staged_at;
  };
  for (std::size_t i = 0; i < std::max(source.inputs.size(), source.outputs.size()); ++i) {
    DeviceBatch batch;
    batch.rows = {choice, count, 0};
    if (i < source.inputs.size()) {
      const data::Array& from = examples.features(i);
      const TensorView& inputs = to.inputs[i];
      batch.features = {data_of(source.inputs[i].features), from.dtype, from.row_elements(), inputs.elements() / count};
      batch.affine = source.inputs[i].conversion;
      batch.features_dtype = inputs.dtype;
      batch.features_to = inputs.data;
    }
    if (i < source.outputs.size()) {
      const data::Array& from = examples.labels(i);
      const TensorView& labels = to.outputs[i].labels;
      const std::int64_t depth = examples.one_hot_depth(i);
      batch.labels = {data_of(source.outputs[i].labels), from.dtype, from.row_elements(),
                      labels.elements() / count / std::max<std::int64_t>(depth, 1)};
      batch.labels_dtype = labels.dtype;
      batch.one_hot_depth = depth;
      batch.labels_to = labels.data;
    }
    batch.copies = std::exchange(brought_along_, {});
    kernels_.gather(stream, batch);
  }
  // A resident data set's rows are counted from the whole array's first; these numbers are only the data set's own.
  const RowChoice rows{choice, count, source.is_resident ? -examples.dataset().first_row() : 0};
  const auto gather_numbers = [&](const Place& place, float* numbers) {
    if (numbers == nullptr) return;
    DeviceBatch batch;
    batch.rows = rows;
    batch.features = {data_of(place), DType::kFloat32, 1, 1};
    batch.affine.identity = true;
    batch.features_to = reinterpret_cast<std::byte*>(numbers);
    kernels_.gather(stream, batch);
  };
  for (std::size_t i = 0; i < source.outputs.size(); ++i) {
    gather_numbers(source.outputs[i].weights, to.outputs[i].weights);
    gather_numbers(source.outputs[i].present, to.outputs[i].present);
  }
}

void DeviceExamples::end(Stream& stream) {
  if (!all_on_device()) stream.record(*stagings_[staging_].consumed);
}

std::size_t DeviceExamples::bytes() const {
  std::size_t total = stagings_.size() * staging_bytes_;
  for (const auto& [data, buffer] : arrays_) total += buffer.bytes();
  for (const auto& [examples, source] : sources_) {
    for (const Input& input : source.inputs) total += input.affine.bytes();
    for (const Output& output : source.outputs) {
      total += output.weights_on_device.bytes() + output.present_on_device.bytes();
    }
  }
  return total;
}

}  // namespace mirrortrain
