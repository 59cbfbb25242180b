#include "data/files/zstd.h"

namespace mirrortrain::data {

bool is_zstd(std::string_view beginning) { return beginning.starts_with("\x28\xb5\x2f\xfd"); }

}  // namespace mirrortrain::data
