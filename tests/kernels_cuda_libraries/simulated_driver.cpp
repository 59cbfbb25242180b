// A driver without a GPU, which loads nothing: cuDNN makes plans for a described GPU without any driver, except those
// that it compiles, which it loads as soon as they are compiled. Built as libcuda.so.1, in a folder of its own. The
// functions have the driver's names and parameters, by CUDA's documentation of its driver API.
#include <cstdint>

namespace {

// Values of CUresult.
constexpr int kSuccess = 0, kNoDevice = 100, kNotFound = 500, kNotSupported = 801;

void* const kSomething = reinterpret_cast<void*>(std::uintptr_t{64});

}  // namespace

extern "C" {

int cuInit(unsigned) { return kNoDevice; }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = 0;
  return kNoDevice;
}
int cuGetExportTable(const void**, const void*) { return kNotFound; }

int cuLibraryLoadData(void** library, const void*, void*, void**, unsigned, void*, void**, unsigned) {
  *library = kSomething;
  return kSuccess;
}
int cuLibraryGetKernel(void** kernel, void*, const char*) {
  *kernel = kSomething;
  return kSuccess;
}
int cuKernelGetFunction(void** function, void*) {
  *function = kSomething;
  return kSuccess;
}
int cuKernelSetAttribute(int, int, void*, int) { return kSuccess; }
int cuLibraryUnload(void*) { return kSuccess; }

// What cuDNN looks for, and plans for a described GPU do not call.
#define MIRRORTRAIN_ABSENT(name) \
  int name() { return kNotSupported; }
MIRRORTRAIN_ABSENT(cuCtxGetCurrent)
MIRRORTRAIN_ABSENT(cuCtxGetLimit)
MIRRORTRAIN_ABSENT(cuCtxPopCurrent)
MIRRORTRAIN_ABSENT(cuCtxPushCurrent)
MIRRORTRAIN_ABSENT(cuDeviceGet)
MIRRORTRAIN_ABSENT(cuGetErrorName)
MIRRORTRAIN_ABSENT(cuGetErrorString)
MIRRORTRAIN_ABSENT(cuKernelGetAttribute)
MIRRORTRAIN_ABSENT(cuLaunchCooperativeKernel)
MIRRORTRAIN_ABSENT(cuLaunchKernel)
MIRRORTRAIN_ABSENT(cuLaunchKernelEx)
MIRRORTRAIN_ABSENT(cuLibraryLoadFromFile)
MIRRORTRAIN_ABSENT(cuLinkAddData)
MIRRORTRAIN_ABSENT(cuLinkComplete)
MIRRORTRAIN_ABSENT(cuLinkCreate)
MIRRORTRAIN_ABSENT(cuLinkDestroy)
MIRRORTRAIN_ABSENT(cuOccupancyMaxPotentialClusterSize)
MIRRORTRAIN_ABSENT(cuStreamGetCtx)
#undef MIRRORTRAIN_ABSENT

}  // extern "C"
