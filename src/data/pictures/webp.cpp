#include <fmt/format.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "data/pictures/orientation.h"
#include "data/pictures/picture.h"

namespace mirrortrain::data {
namespace {

const std::uint8_t* webp_bytes(std::span<const std::byte> file) {
  return reinterpret_cast<const std::uint8_t*>(file.data());
}

[[noreturn]] void fail_at_webp(const std::string& name) {
  throw Error(fmt::format("{}: this WebP does not decode; get the file again or remove it", name));
}

WebPBitstreamFeatures features_of(std::span<const std::byte> file, const std::string& name) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(webp_bytes(file), file.size(), &features) != VP8_STATUS_OK) fail_at_webp(name);
  // A picture of one color takes a few bytes whatever its size, which is at most 16383 x 16383.
  require_possible_size(features.width, features.height, file.size(), std::size_t{1} << 22, name);
  return features;
}

int webp_orientation(std::span<const std::byte> file) {
  const WebPData data{webp_bytes(file), file.size()};
  const std::unique_ptr<WebPDemuxer, void (*)(WebPDemuxer*)> demuxer(WebPDemux(&data), WebPDemuxDelete);
  if (!demuxer) return 1;
  WebPChunkIterator chunk;
  if (WebPDemuxGetChunk(demuxer.get(), "EXIF", 1, &chunk) == 0) return 1;
  std::span exif(reinterpret_cast<const std::byte*>(chunk.chunk.bytes), chunk.chunk.size);
  if (exif.size() >= 6 && std::memcmp(exif.data(), "Exif\0", 6) == 0) exif = exif.subspan(6);
  const int orientation = exif_orientation(exif);
  WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

/// The first picture of an animation, on its canvas.
void decode_first_frame(std::span<const std::byte> file, const std::string& name, Picture& to) {
  const WebPData data{webp_bytes(file), file.size()};
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0) fail_at_webp(name);
  options.color_mode = MODE_RGBA;
  const std::unique_ptr<WebPAnimDecoder, void (*)(WebPAnimDecoder*)> decoder(WebPAnimDecoderNew(&data, &options),
                                                                             WebPAnimDecoderDelete);
  std::uint8_t* frame = nullptr;
  int time = 0;
  if (!decoder || WebPAnimDecoderGetNext(decoder.get(), &frame, &time) == 0) fail_at_webp(name);
  for (std::size_t i = 0; i < to.pixels.size() / 3; ++i) std::memcpy(&to.pixels[3 * i], frame + 4 * i, 3);
}

}  // namespace

PictureSize webp_size(std::span<const std::byte> file, const std::string& name) {
  const WebPBitstreamFeatures features = features_of(file, name);
  return upright(PictureSize{features.height, features.width}, webp_orientation(file));
}

void decode_webp(std::span<const std::byte> file, int channels, const std::string& name, Picture& to) {
  const WebPBitstreamFeatures features = features_of(file, name);
  Picture picture{features.height, features.width, 3, {}};
  picture.pixels.resize(3 * static_cast<std::size_t>(picture.height * picture.width));
  if (features.has_animation != 0) {
    decode_first_frame(file, name, picture);
  } else if (WebPDecodeRGBInto(webp_bytes(file), file.size(), picture.pixels.data(), picture.pixels.size(),
                               3 * features.width) == nullptr) {
    fail_at_webp(name);
  }
  const int orientation = webp_orientation(file);
  if (orientation != 1) picture = upright(picture, orientation);
  to = in_channels(std::move(picture), channels);
}

}  // namespace mirrortrain::data
