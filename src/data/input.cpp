#include "data/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/inflate.h"
#include "data/plain_file.h"

namespace mirrortrain::data {
namespace {

class PlainInput : public Input {
 public:
  explicit PlainInput(PlainFile file) : Input(file.path()), file_(std::move(file)) {}

  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = file_.read_at(offset_, to);
    offset_ += count;
    return count;
  }
  std::uint64_t most_bytes() const override { return file_.size(); }

 private:
  PlainFile file_;
  std::uint64_t offset_ = 0;
};

}  // namespace

std::string Input::name_note() const {
  return name_.ends_with(".gz") && !is_compressed()
             ? "; in spite of its name the file is not gzip, and was read as it is"
             : "";
}

void Input::read_all(std::span<std::byte> to, const std::string& what) {
  const std::size_t count = read(to);
  if (count == to.size()) return;
  throw Error(fmt::format("{}: truncated: expected {} bytes of {}, found {}; get the file again", name(), to.size(),
                          what, count));
}

void Input::require_possible(std::uint64_t announced, const std::string& what) const {
  if (announced <= most_bytes()) return;
  throw Error(
      fmt::format("{}: the header announces {} bytes of {}, but the file holds at most {}; it is truncated or "
                  "damaged, get it again",
                  name(), announced, what, most_bytes()));
}

void Input::require_end() {
  std::array<std::byte, 1> one;
  if (read(one) == 0) return;
  throw Error(
      fmt::format("{}: found more bytes after the data that the header announces; the file is damaged or two files "
                  "were joined",
                  name()));
}

std::unique_ptr<Input> open_input(const std::string& path) {
  PlainFile file(path);
  // The third byte names deflate, the only method there is.
  constexpr std::array kGzip = {std::byte{0x1f}, std::byte{0x8b}, std::byte{0x08}};
  std::array<std::byte, 3> magic{};
  const std::size_t count = file.read_at(0, magic);
  const bool is_gzip = count >= 2 && std::equal(magic.begin(), magic.begin() + count, kGzip.begin());
  if (!is_gzip) return std::make_unique<PlainInput>(std::move(file));
  const std::uint64_t most = most_inflated(file.size());
  auto compressed = std::make_shared<PlainInput>(std::move(file));
  return std::make_unique<InflateInput>(
      path, InflateInput::Kind::kGzip, [compressed](std::span<std::byte> to) { return compressed->read(to); }, most);
}

}  // namespace mirrortrain::data
