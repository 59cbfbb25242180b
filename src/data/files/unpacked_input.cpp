#include "data/files/unpacked_input.h"

#include <cstddef>
#include <span>
#include <vector>

#include "data/files/file_stamps.h"
#include "data/files/input.h"

namespace mirrortrain::data {

std::shared_ptr<const UnpackedFile> unpack_input(const std::string& path, const UnpackedFiles& cache) {
  FileStamps stamps;
  stamps.add(path);
  const UnpackedFiles::Write write = [&](const UnpackedFiles::Put& put) {
    const std::unique_ptr<Input> input = open_input(path);
    std::vector<std::byte> block(std::size_t{1} << 20);
    while (const std::size_t count = input->read(block)) put(std::span(block).first(count));
  };
  return cache.find_or_write(stamps.text() + " unpacked", path, {PlainFile(path).size(), false}, write);
}

}  // namespace mirrortrain::data
