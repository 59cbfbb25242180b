#include "report/tensorboard_summary.h"

#include <array>
#include <chrono>
#include <cstring>
#include <span>

namespace mirrortrain::report {
namespace {

/// The numbers of the fields in TensorFlow's event.proto, summary.proto and tensor.proto.
namespace summary_field {
namespace event {
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5;
}
namespace summary {
constexpr int kValue = 1;
}
namespace value {
constexpr int kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9;
}
namespace metadata {
constexpr int kPluginData = 1;
}
namespace plugin_data {
constexpr int kName = 1, kContent = 2;
}
namespace tensor {
constexpr int kType = 1, kShape = 2, kContent = 4, kStrings = 8;
}
}  // namespace summary_field

/// TensorFlow's DataType.
constexpr std::uint64_t kFloat = 1, kDouble = 2, kString = 7;

ProtoMessage tensor_of(std::uint64_t type, std::span<const std::int64_t> sizes) {
  ProtoMessage tensor;
  tensor.put_varint(summary_field::tensor::kType, type);
  tensor.put_bytes(summary_field::tensor::kShape, tensor_shape(sizes).bytes());
  return tensor;
}

}  // namespace

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

ProtoMessage tensorboard_event(std::optional<std::int64_t> step) {
  ProtoMessage event;
  event.put_double(summary_field::event::kWallTime, seconds_since_1970());
  if (step) event.put_varint(summary_field::event::kStep, static_cast<std::uint64_t>(*step));
  return event;
}

std::string tensorboard_version_record() {
  ProtoMessage version = tensorboard_event(std::nullopt);
  version.put_bytes(summary_field::event::kFileVersion, "brain.Event:2");
  return tf_record(version.bytes());
}

void TensorBoardSummary::add(std::string_view tag, double number) {
  ProtoMessage value;
  value.put_bytes(summary_field::value::kTag, tag);
  value.put_float(summary_field::value::kSimpleValue, static_cast<float>(number));
  add_value(value);
}

/// Rows of [left edge, right edge, count].
void TensorBoardSummary::add(std::string_view tag, const Histogram& histogram) {
  std::string content;
  for (const Histogram::Bucket& bucket : histogram.buckets) {
    const double row[] = {bucket.left, bucket.right, static_cast<double>(bucket.count)};
    content.append(reinterpret_cast<const char*>(row), sizeof row);
  }
  ProtoMessage tensor = tensor_of(kDouble, std::array{std::ssize(histogram.buckets), std::ptrdiff_t{3}});
  tensor.put_bytes(summary_field::tensor::kContent, content);
  add_tensor(tag, "histograms", tensor);
}

void TensorBoardSummary::add_text(std::string_view tag, std::string_view text) {
  ProtoMessage tensor = tensor_of(kString, {});
  tensor.put_bytes(summary_field::tensor::kStrings, text);
  add_tensor(tag, "text", tensor);
}

/// Width, height, and the files.
void TensorBoardSummary::add_pictures(std::string_view tag, const PictureStrip& pictures) {
  ProtoMessage tensor = tensor_of(kString, std::array{2 + std::ssize(pictures.files)});
  tensor.put_bytes(summary_field::tensor::kStrings, std::to_string(pictures.width));
  tensor.put_bytes(summary_field::tensor::kStrings, std::to_string(pictures.height));
  for (const std::string& file : pictures.files) tensor.put_bytes(summary_field::tensor::kStrings, file);
  add_tensor(tag, "images", tensor);
}

void TensorBoardSummary::add_plugin_data(std::string_view tag, std::string_view plugin, const ProtoMessage& content) {
  add_tensor(tag, plugin, tensor_of(kFloat, std::array{std::int64_t{0}}), content);
}

void TensorBoardSummary::add_tensor(std::string_view tag, std::string_view plugin, const ProtoMessage& tensor,
                                    const ProtoMessage& content) {
  ProtoMessage plugin_data, metadata, value;
  plugin_data.put_bytes(summary_field::plugin_data::kName, plugin);
  if (!content.bytes().empty()) plugin_data.put_bytes(summary_field::plugin_data::kContent, content.bytes());
  metadata.put_bytes(summary_field::metadata::kPluginData, plugin_data.bytes());
  value.put_bytes(summary_field::value::kTag, tag);
  value.put_bytes(summary_field::value::kTensor, tensor.bytes());
  value.put_bytes(summary_field::value::kMetadata, metadata.bytes());
  add_value(value);
}

void TensorBoardSummary::add_value(const ProtoMessage& value) {
  message_.put_bytes(summary_field::summary::kValue, value.bytes());
}

std::string TensorBoardSummary::record(std::optional<std::int64_t> step) const {
  ProtoMessage event = tensorboard_event(step);
  event.put_bytes(summary_field::event::kSummary, message_.bytes());
  return tf_record(event.bytes());
}

}  // namespace mirrortrain::report
