#include "report/tensorboard_hparams.h"

#include <cstdint>
#include <string_view>

#include "report/tensorboard_record.h"
#include "report/tensorboard_summary.h"

namespace mirrortrain::report {
namespace {

/// Numbers of fields: of google.protobuf.Value, and of the plugin's.
namespace proto {
constexpr int kNumberValue = 2, kStringValue = 3, kBoolValue = 4, kListValues = 1;
constexpr int kMapKey = 1, kMapValue = 2;
constexpr int kExperiment = 2, kSessionStart = 3, kSessionEnd = 4;
constexpr int kExperimentTime = 3, kExperimentParameters = 4, kExperimentMetrics = 5;
constexpr int kInfoName = 1, kInfoType = 4, kInfoDiscrete = 5, kInfoInterval = 6, kIntervalLow = 1, kIntervalHigh = 2;
constexpr int kMetricName = 1, kMetricTag = 2;
constexpr int kStartValues = 1, kStartGroup = 4, kStartTime = 5, kEndStatus = 1, kEndTime = 2;
}  // namespace proto

enum class DataType : std::uint8_t { kString = 1, kBool = 2, kNumber = 3 };
enum class Status : std::uint8_t { kSuccess = 1, kFailure = 2 };

DataType type_of(const HParamValue& value) {
  return std::holds_alternative<bool>(value)     ? DataType::kBool
         : std::holds_alternative<double>(value) ? DataType::kNumber
                                                 : DataType::kString;
}

std::string value_message(const HParamValue& value) {
  ProtoMessage message;
  if (const auto* const truth = std::get_if<bool>(&value)) message.put_varint(proto::kBoolValue, *truth ? 1 : 0);
  if (const auto* const number = std::get_if<double>(&value)) message.put_double(proto::kNumberValue, *number);
  if (const auto* const text = std::get_if<std::string>(&value)) message.put_bytes(proto::kStringValue, *text);
  return message.bytes();
}

std::string info_message(const HParam& parameter) {
  ProtoMessage info;
  info.put_bytes(proto::kInfoName, parameter.name);
  info.put_varint(proto::kInfoType, static_cast<std::uint64_t>(type_of(parameter.like)));
  if (!parameter.domain.empty()) {
    ProtoMessage list;
    for (const HParamValue& value : parameter.domain) list.put_bytes(proto::kListValues, value_message(value));
    info.put_bytes(proto::kInfoDiscrete, list.bytes());
  } else if (type_of(parameter.like) == DataType::kNumber) {
    ProtoMessage interval;
    interval.put_double(proto::kIntervalLow, parameter.interval.first);
    interval.put_double(proto::kIntervalHigh, parameter.interval.second);
    info.put_bytes(proto::kInfoInterval, interval.bytes());
  }
  return info.bytes();
}

/// A summary with no more than the plugin's data, `field` of its message.
std::string plugin_record(std::string_view tag, int field, const ProtoMessage& data) {
  ProtoMessage content;
  content.put_bytes(field, data.bytes());
  TensorBoardSummary summary;
  summary.add_plugin_data(tag, "hparams", content);
  return summary.record(std::nullopt);
}

}  // namespace

std::string hparams_experiment(const std::vector<HParam>& parameters, const std::string& metric) {
  ProtoMessage experiment, info, name;
  experiment.put_double(proto::kExperimentTime, seconds_since_1970());
  for (const HParam& parameter : parameters) {
    experiment.put_bytes(proto::kExperimentParameters, info_message(parameter));
  }
  name.put_bytes(proto::kMetricTag, metric);
  info.put_bytes(proto::kMetricName, name.bytes());
  experiment.put_bytes(proto::kExperimentMetrics, info.bytes());
  return tensorboard_version_record() + plugin_record("_hparams_/experiment", proto::kExperiment, experiment);
}

std::string hparams_session(const HParamSession& session) {
  ProtoMessage start, end;
  for (const auto& [name, value] : session.values) {
    ProtoMessage entry;
    entry.put_bytes(proto::kMapKey, name);
    entry.put_bytes(proto::kMapValue, value_message(value));
    start.put_bytes(proto::kStartValues, entry.bytes());
  }
  start.put_bytes(proto::kStartGroup, session.name);
  start.put_double(proto::kStartTime, seconds_since_1970());
  end.put_varint(proto::kEndStatus,
                 static_cast<std::uint64_t>(session.has_failed ? Status::kFailure : Status::kSuccess));
  end.put_double(proto::kEndTime, seconds_since_1970());
  TensorBoardSummary summary;
  if (session.result) summary.add(session.result->first, session.result->second);
  return tensorboard_version_record() + plugin_record("_hparams_/session_start_info", proto::kSessionStart, start) +
         (session.result ? summary.record(0) : "") +
         plugin_record("_hparams_/session_end_info", proto::kSessionEnd, end);
}

}  // namespace mirrortrain::report
