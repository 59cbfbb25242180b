#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/json.h"
#include "serve/tensors/inference.h"

namespace mirrortrain {
namespace {

/// Texts that are not UTF-8, as names of classes may be, get replacement characters.
std::string json_of(const std::string& text) { return json_text(nlohmann::json(text)); }

/// The shortest text of each number that reads as the same float32; JSON has none for NaN and infinities.
void append_numbers(const std::vector<float>& numbers, std::string& to) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) to += ',';
    if (std::isfinite(numbers[i])) {
      fmt::format_to(std::back_inserter(to), "{}", numbers[i]);
    } else {
      to += "null";
    }
  }
}

void append(const OutputTensor& output, std::string& json, std::string& binary) {
  json += fmt::format(R"({{"name":{},"datatype":"{}","shape":[)", json_of(output.name),
                      output.texts.empty() ? "FP32" : "BYTES");
  for (std::size_t i = 0; i < output.shape.size(); ++i) json += (i > 0 ? "," : "") + std::to_string(output.shape[i]);
  json += ']';
  if (output.is_binary) {
    const std::string bytes = bytes_of(output);
    json += fmt::format(R"(,"parameters":{{"binary_data_size":{}}}}})", bytes.size());
    binary += bytes;
    return;
  }
  json += ",\"data\":[";
  append_numbers(output.numbers, json);
  for (std::size_t i = 0; i < output.texts.size(); ++i) json += (i > 0 ? "," : "") + json_of(output.texts[i]);
  json += "]}";
}

}  // namespace

std::string bytes_of(const OutputTensor& output) {
  std::string bytes;
  for (const std::string& text : output.texts) {
    const auto length = static_cast<std::uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
    bytes += text;
  }
  if (output.texts.empty()) {
    bytes.assign(reinterpret_cast<const char*>(output.numbers.data()), output.numbers.size() * sizeof(float));
  }
  return bytes;
}

InferenceBody write_inference(const InferenceResponse& response) {
  std::string json =
      fmt::format(R"({{"model_name":{},"model_version":{},)", json_of(response.model), json_of(response.version));
  if (response.id) json += fmt::format(R"("id":{},)", json_of(*response.id));
  json += "\"outputs\":[";
  std::string binary;
  bool has_binary = false;
  for (std::size_t i = 0; i < response.outputs.size(); ++i) {
    if (i > 0) json += ',';
    append(response.outputs[i], json, binary);
    has_binary = has_binary || response.outputs[i].is_binary;
  }
  json += "]}";
  if (!has_binary) return {std::move(json), std::nullopt};
  const std::size_t json_bytes = json.size();
  return {std::move(json) + binary, json_bytes};
}

}  // namespace mirrortrain
