#include "data/decoded_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/picture.h"

namespace mirrortrain::data {
namespace {

std::span<const std::byte> span_of(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }

class DecodedPictures : public ExampleSource {
 public:
  DecodedPictures(std::shared_ptr<const EncodedPictures> pictures, PictureSize size, int channels, bool resizes)
      : pictures_(std::move(pictures)), size_(size), channels_(channels), resizes_(resizes) {}

  void read(std::int64_t row, std::span<float> to) const override {
    const Bytes bytes = pictures_->read(row);
    const std::string name = row_text(row);
    if (!resizes_) require_size(picture_size(span_of(bytes), name), name);
    resize_bilinear(decode_picture(span_of(bytes), channels_, name), size_.height, size_.width, to);
  }
  std::uint64_t stored_bytes(std::int64_t row) const override { return pictures_->stored_bytes(row); }
  std::string row_text(std::int64_t row) const override { return pictures_->row_text(row); }

 private:
  void require_size(PictureSize found, const std::string& name) const {
    if (found.height == size_.height && found.width == size_.width) return;
    throw Error(
        fmt::format("{}: expected {} x {} pixels (height x width) as in {}, found {} x {}; give image_size, to "
                    "which all are resized",
                    name, size_.height, size_.width, row_text(0), found.height, found.width));
  }

  std::shared_ptr<const EncodedPictures> pictures_;
  PictureSize size_;
  int channels_;
  bool resizes_;
};

}  // namespace

Examples decoded_when_asked(std::shared_ptr<const EncodedPictures> pictures, const PictureForm& form,
                            const std::string& origin) {
  const int channels = form.color == PictureColor::kGray ? 1 : 3;
  PictureSize size;
  if (form.image_size) {
    size = {(*form.image_size)[0], (*form.image_size)[1]};
  } else {
    size = picture_size(span_of(pictures->read(0)), pictures->row_text(0));
  }
  Examples examples;
  examples.features.dtype = DType::kFloat32;
  examples.features.shape = Shape{pictures->rows(), size.height, size.width, channels};
  examples.features.origin = origin;
  examples.labels = Array(DType::kFloat64, {pictures->rows()}, origin);
  std::ranges::fill(examples.labels.span<double>(), 0);
  examples.source = std::make_shared<DecodedPictures>(std::move(pictures), size, channels, form.image_size.has_value());
  return examples;
}

}  // namespace mirrortrain::data
