#include "device/device.h"

#include <fmt/format.h>

namespace mirrortrain {

std::string DeviceId::text() const { return fmt::format("{}:{}", kind == Kind::kCpu ? "cpu" : "cuda", index); }

Buffer::Buffer(std::byte* data, std::size_t bytes, Deleter deleter) : data_(data, std::move(deleter)), bytes_(bytes) {}

}  // namespace mirrortrain
