#pragma once

#include "serve/grpc/open_inference.pb.h"
#include "serve/tensors/inference.h"

namespace mirrortrain {

/// Throws Refused, saying what is wrong with a request.
InferenceRequest read_inference(const inference::ModelInferRequest& request);
/// Writes all outputs as raw contents.
void write_inference(const InferenceResponse& response, inference::ModelInferResponse& to);

}  // namespace mirrortrain
