// Requests of the Open Inference Protocol. The first two bytes say where the JSON ends; 0: there are no binary data.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "serve/tensors/inference.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t json_bytes = bytes[0] + std::size_t{256} * bytes[1];
  const std::string_view body(reinterpret_cast<const char*>(bytes) + 2, size - 2);
  try {
    const mirrortrain::InferenceRequest request =
        mirrortrain::read_inference(body, json_bytes > 0 ? std::optional(json_bytes) : std::nullopt);
    mirrortrain::InferenceResponse response{"model", "1", request.id, {}};
    for (const mirrortrain::Tensor& tensor : request.inputs) {
      response.outputs.push_back({tensor.name, tensor.shape, {}, tensor.texts, request.is_binary});
    }
    mirrortrain::write_inference(response);
  } catch (const mirrortrain::Error&) {
  }
  return 0;
}
