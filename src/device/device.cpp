#include "device/device.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain {

std::unique_ptr<Recording> Stream::capture(const std::function<void()>&) {
  throw Error("this stream captures nothing");
}

std::string DeviceId::text() const { return fmt::format("{}:{}", kind == Kind::kCpu ? "cpu" : "cuda", index); }

Buffer::Buffer(std::byte* data, std::size_t bytes, Deleter deleter) : data_(data, std::move(deleter)), bytes_(bytes) {}

}  // namespace mirrortrain
