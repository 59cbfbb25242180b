#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "serve/grpc/open_inference.pb.h"
#include "serve/tensors/inference.h"

namespace mirrortrain {

/// A message as it was received. Throws Refused for one that is damaged, or that would take many times its memory.
inference::ModelInferRequest parse_request(const grpc::ByteBuffer& bytes);
/// Throws Refused, saying what is wrong with a request.
InferenceRequest read_inference(const inference::ModelInferRequest& request);
/// Writes all outputs as raw contents.
void write_inference(const InferenceResponse& response, inference::ModelInferResponse& to);

}  // namespace mirrortrain
