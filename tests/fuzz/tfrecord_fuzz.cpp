#include <string>

#include "base/crc32c.h"
#include "fuzz/data_set.h"

// The input as a file, and as a record of one, whose checksums no fuzzer guesses.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirrortrain;
  const auto checksum = [](const std::string& text) {
    const std::uint32_t crc = masked_crc32c_of(std::as_bytes(std::span(text)));
    return std::string(reinterpret_cast<const char*>(&crc), sizeof crc);
  };
  const std::uint64_t length = size;
  const std::string header(reinterpret_cast<const char*>(&length), sizeof length);
  const std::string payload(reinterpret_cast<const char*>(bytes), size);
  const std::string record = header + checksum(header) + payload + checksum(payload);
  for (const char* features : {"features: {floats: {shape: [3]}}",
                               "features: {raw: {shape: [6]}, integers: {shape: [2]}}", "image: picture"}) {
    const std::string source = std::string("{format: tfrecord, files: FILE, ") + features + "}";
    fuzz::load_data_set(source, bytes, size);
    fuzz::load_data_set(source, reinterpret_cast<const std::uint8_t*>(record.data()), record.size());
  }
  return 0;
}
