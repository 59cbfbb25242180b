#include "base/version.h"

namespace mirrortrain {

const char* const kVersion = MIRRORTRAIN_VERSION;

}  // namespace mirrortrain
