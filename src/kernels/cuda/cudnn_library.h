#pragma once

#include <cudnn_graph.h>

#include <string>

namespace mirrortrain::cuda {

/// cuDNN's functions, those of its graph API.
struct CudnnLibrary {
  decltype(&::cudnnGetVersion) get_version;
  decltype(&::cudnnGetErrorString) get_error_string;
  decltype(&::cudnnGetLastErrorString) get_last_error_string;
  decltype(&::cudnnCreate) create;
  decltype(&::cudnnDestroy) destroy;
  decltype(&::cudnnSetStream) set_stream;
  decltype(&::cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&::cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&::cudnnBackendFinalize) finalize;
  decltype(&::cudnnBackendSetAttribute) set_attribute;
  decltype(&::cudnnBackendGetAttribute) get_attribute;
  decltype(&::cudnnBackendExecute) execute;
};

/// Opened at the first call. Throws Error where there is no cuDNN 9.8 or newer.
const CudnnLibrary& cudnn_library();

/// Throws Error naming the call and what cuDNN says of it, where it failed.
void check(cudnnStatus_t status, const char* call);

/// What cuDNN says of the last call that failed: "CUDNN_STATUS_NOT_SUPPORTED: ...".
std::string reason_of(cudnnStatus_t status);

}  // namespace mirrortrain::cuda
