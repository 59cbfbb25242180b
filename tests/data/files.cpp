#include "data/files.h"

#include <fmt/format.h>
#include <zlib.h>

#include <fstream>

namespace mirrortrain::data {
namespace {

std::string deflated(std::string_view content, int window) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string out(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::uint64_t checksum(std::string_view content) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
}

}  // namespace

std::string TemporaryFolder::write(std::string_view name, std::string_view content) const {
  std::ofstream file(path(name), std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  return path(name);
}

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

std::string little_endian(std::uint64_t number, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
  return out;
}

std::string idx(int type, const std::vector<std::uint32_t>& extents, std::string_view elements) {
  std::string file{'\0', '\0', static_cast<char>(type), static_cast<char>(extents.size())};
  for (const std::uint32_t extent : extents) file += big_endian(extent);
  return file + std::string(elements);
}

std::string npy(std::string_view descr, bool fortran_order, std::string_view shape, std::string_view elements) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr,
                                   fortran_order ? "True" : "False", shape);
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + little_endian(header.size(), 2) + header + std::string(elements);
}

std::string gzip(std::string_view content) { return deflated(content, 15 + 16); }

std::string zip(const std::vector<ZipFile>& files) {
  std::string out, directory;
  for (const ZipFile& file : files) {
    const std::string stored = file.deflated ? deflated(file.content, -15) : file.content;
    const std::string sizes =
        file.zip64 ? std::string(8, '\xff') : little_endian(stored.size(), 4) + little_endian(file.content.size(), 4);
    const std::string extra = file.zip64 ? little_endian(1, 2) + little_endian(16, 2) +
                                               little_endian(file.content.size(), 8) + little_endian(stored.size(), 8)
                                         : "";
    const std::string common = little_endian(45, 2) + little_endian(0, 2) + little_endian(file.deflated ? 8 : 0, 2) +
                               little_endian(0, 4) + little_endian(checksum(file.content), 4) + sizes +
                               little_endian(file.name.size(), 2) + little_endian(extra.size(), 2);
    directory += little_endian(0x02014b50, 4) + little_endian(45, 2) + common + std::string(10, '\0') +
                 little_endian(out.size(), 4) + file.name + extra;
    out += little_endian(0x04034b50, 4) + common + file.name + extra + stored;
  }
  const std::string counts = little_endian(files.size(), 2) + little_endian(files.size(), 2);
  return out + directory + little_endian(0x06054b50, 4) + little_endian(0, 4) + counts +
         little_endian(directory.size(), 4) + little_endian(out.size(), 4) + little_endian(0, 2);
}

}  // namespace mirrortrain::data
