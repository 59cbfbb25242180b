#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/tensors/tensor.h"

namespace mirrortrain {

/// An output that a request asks for.
struct WantedOutput {
  std::string name;
  bool is_binary = false;
  std::int64_t classes = 0;  ///< not 0: as texts "probability:number:name" of so many classes, the most probable first
};

/// A request of the Open Inference Protocol (version 2).
struct InferenceRequest {
  std::optional<std::string> id;
  std::vector<Tensor> inputs;
  std::vector<WantedOutput> outputs;  ///< none: all
  bool is_binary = false;             ///< unless `outputs` says otherwise
};

/// An output of the answer: numbers, or texts.
struct OutputTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> numbers{};
  std::vector<std::string> texts{};  ///< in place of numbers
  bool is_binary = false;
};

/// Its elements, little endian; texts each with four bytes before it that say its length.
std::string bytes_of(const OutputTensor& output);

struct InferenceResponse {
  std::string model, version;
  std::optional<std::string> id;
  std::vector<OutputTensor> outputs;
};

/// Reads a body of JSON, or of JSON of `json_bytes` followed by the elements of tensors as the binary data extension
/// has them. Throws Refused, saying what is wrong with it and where.
InferenceRequest read_inference(std::string_view body, std::optional<std::size_t> json_bytes);

/// A body, and how much of it is JSON if binary data follow.
struct InferenceBody {
  std::string bytes;
  std::optional<std::size_t> json_bytes;
};
InferenceBody write_inference(const InferenceResponse& response);

}  // namespace mirrortrain
