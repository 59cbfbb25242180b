#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "report/event.h"
#include "report/tensorboard_record.h"

namespace mirrortrain::report {

double seconds_since_1970();

/// TensorFlow's Event message of this step, if it has one, and of now, without content.
ProtoMessage tensorboard_event(std::optional<std::int64_t> step);

/// The TFRecord that every file for TensorBoard begins with.
std::string tensorboard_version_record();

/// The values of one step in one file of TensorBoard: TensorFlow's Summary message. Scalars are simple values; the rest
/// are tensors with the metadata of TensorBoard's plugins, as tf.summary of TensorFlow 2 writes them.
class TensorBoardSummary {
 public:
  void add(std::string_view tag, double number);
  void add(std::string_view tag, const Histogram& histogram);
  /// Markdown.
  void add_text(std::string_view tag, std::string_view text);
  void add_pictures(std::string_view tag, const PictureStrip& pictures);

  /// No more than what a plugin reads, a message of its own; the tensor that it needs is empty.
  void add_plugin_data(std::string_view tag, std::string_view plugin, const ProtoMessage& content);

  /// The TFRecord of an event with these values.
  std::string record(std::optional<std::int64_t> step) const;

 private:
  void add_tensor(std::string_view tag, std::string_view plugin, const ProtoMessage& tensor,
                  const ProtoMessage& content = {});
  void add_value(const ProtoMessage& value);

  ProtoMessage message_;
};

}  // namespace mirrortrain::report
