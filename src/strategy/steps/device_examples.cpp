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

/// Offset of the labels, after `rows` rows of features, and of the weights, after the labels.
std::size_t labels_offset(const data::Array& features, std::size_t rows) {
  return whole_lines(rows * row_bytes(features));
}
std::size_t weights_offset(const data::Feeder& examples, std::size_t rows) {
  return labels_offset(examples.features(), rows) + whole_lines(rows * row_bytes(examples.labels()));
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

void DeviceExamples::add(const data::Feeder& examples, std::int64_t most_rows) {
  const auto [place, is_new] = sources_.try_emplace(&examples);
  if (!is_new) return;
  Source& source = place->second;
  const data::Array &features = examples.features(), &labels = examples.labels();

  const data::Affine& affine = examples.affine();
  const std::size_t channels = affine.channels();
  std::vector<double> vectors = affine.shift;
  vectors.insert(vectors.end(), affine.scale.begin(), affine.scale.end());
  vectors.insert(vectors.end(), affine.offset.begin(), affine.offset.end());
  source.affine = device_.allocate(vectors.size() * sizeof(double));
  upload(*copies_, source.affine, vectors.data());
  const auto* const on_device = source.affine.as<double>();
  const auto all_are = [](const std::vector<double>& values, double value) {
    return std::all_of(values.begin(), values.end(), [&](double one) { return one == value; });
  };
  source.conversion = {on_device,
                       on_device + channels,
                       on_device + 2 * channels,
                       static_cast<std::int64_t>(channels),
                       all_are(affine.shift, 0) && all_are(affine.scale, 1) && all_are(affine.offset, 0),
                       affine.needs_double()};

  const bool in_memory = !examples.reads_ahead();
  if (in_memory && (cache_ == data::Cache::kDevice || (cache_ == data::Cache::kAuto && fits(examples.dataset())))) {
    try {
      source.features = resident(features);
      source.labels = resident(labels);
      if (!examples.weights().empty()) {
        source.weights = device_.allocate(examples.weights().size_bytes());
        upload(*copies_, source.weights, examples.weights().data());
      }
    } catch (const Error& error) {
      throw Error(
          fmt::format("data.cache: {} in the GPU's memory: {}; use `cache: host`", features.origin, error.what()));
    }
    return;
  }
  const auto rows = static_cast<std::size_t>(most_rows);
  const std::size_t bytes = weights_offset(examples, rows) + rows * sizeof(float);
  if (bytes <= staging_bytes_) return;
  staging_bytes_ = bytes;
  for (Staging& staging : stagings_) {
    staging.host = device_.allocate_host(bytes);
    staging.device = device_.allocate(bytes);
  }
}

/// Half of the free memory is left to the model, which allocates its memory later.
bool DeviceExamples::fits(const data::Dataset& dataset) const {
  std::size_t bytes = 0;
  for (const data::Array* array : {&dataset.features(), &dataset.labels()}) {
    if (!arrays_.contains(array->bytes.data())) bytes += array->bytes.size();
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

void DeviceExamples::begin(Stream& stream, const data::Feeder& examples, std::span<std::int64_t> rows,
                           std::int64_t epoch) {
  if (on_device(examples)) {
    for (std::int64_t& row : rows) row += examples.dataset().first_row();
    return;
  }
  staging_ = (staging_ + 1) % stagings_.size();
  Staging& staging = stagings_[staging_];
  staging.copied->synchronize();  // by the last step that used it
  staged_labels_ = labels_offset(examples.features(), rows.size());
  staged_weights_ = weights_offset(examples, rows.size());
  examples.copy_examples(rows, staging.host.data(), staging.host.data() + staged_labels_, epoch);
  std::size_t bytes = staged_labels_ + rows.size() * row_bytes(examples.labels());
  if (const std::span<const float> weights = examples.weights(); !weights.empty()) {
    auto* const staged = reinterpret_cast<float*>(staging.host.data() + staged_weights_);
    std::ranges::transform(rows, staged, [&](std::int64_t row) { return weights[static_cast<std::size_t>(row)]; });
    bytes = staged_weights_ + rows.size() * sizeof(float);
  }
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  copies_->wait(*staging.consumed);
  copies_->copy(staging.device.data(), staging.host.data(), bytes);
  copies_->record(*staging.copied);
  stream.wait(*staging.copied);
}

void DeviceExamples::gather(Stream& stream, const data::Feeder& examples, const std::int64_t* choice,
                            std::int64_t count, const ExampleInputs& to) {
  const Source& source = sources_.at(&examples);
  const data::Array &from = examples.features(), &classes = examples.labels();
  const std::byte* const staged = stagings_[staging_].device.data();
  DeviceBatch batch;
  batch.rows = {choice, count, 0};
  batch.features = {source.features != nullptr ? source.features : staged, from.dtype, from.row_elements(),
                    to.features.elements() / count};
  batch.affine = source.conversion;
  batch.features_dtype = to.features.dtype;
  batch.features_to = to.features.data;
  batch.labels = {source.labels != nullptr ? source.labels : staged + staged_labels_, classes.dtype,
                  classes.row_elements(),
                  to.labels.elements() / count / std::max<std::int64_t>(examples.one_hot_depth(), 1)};
  batch.labels_dtype = to.labels.dtype;
  batch.one_hot_depth = examples.one_hot_depth();
  batch.labels_to = to.labels.data;
  batch.copies = std::exchange(brought_along_, {});
  kernels_.gather(stream, batch);
  if (to.weights == nullptr) return;

  // A resident data set's rows are counted from the whole array's first; weights are only the data set's own.
  const bool is_resident = source.features != nullptr;
  DeviceBatch weights;
  weights.rows = {choice, count, is_resident ? -examples.dataset().first_row() : 0};
  weights.features = {is_resident ? source.weights.data() : staged + staged_weights_, DType::kFloat32, 1, 1};
  weights.affine.identity = true;
  weights.features_to = reinterpret_cast<std::byte*>(to.weights);
  kernels_.gather(stream, weights);
}

void DeviceExamples::end(Stream& stream) {
  if (!all_on_device()) stream.record(*stagings_[staging_].consumed);
}

std::size_t DeviceExamples::bytes() const {
  std::size_t total = stagings_.size() * staging_bytes_;
  for (const auto& [data, buffer] : arrays_) total += buffer.bytes();
  for (const auto& [examples, source] : sources_) total += source.affine.bytes() + source.weights.bytes();
  return total;
}

}  // namespace mirrortrain
