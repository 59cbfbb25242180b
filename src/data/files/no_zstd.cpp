#include <fmt/format.h>

#include "base/error.h"
#include "data/files/zstd.h"

namespace mirrortrain::data {

std::unique_ptr<Input> open_zstd(std::string name, InflateInput::ReadCompressed, std::uint64_t, bool) {
  throw Error(
      fmt::format("{}: it is compressed by zstd, which this program cannot read, as it was built without the library; "
                  "install libzstd-dev and build it again, or unpack the file by `zstd -d`",
                  name));
}

}  // namespace mirrortrain::data
