#pragma once

#include "data/preprocessing/picture_preprocessing.h"
#include "onnx/inputs/prepared.h"

namespace mirrortrain::onnx {

// Pictures [rows, height, width, channels] of any size resized as data/pictures/resample.h does it: by products with
// the shares that each line, or column, has in those of the result, which are computed from the size where the model
// runs.

Prepared resized(Builder& builder, const Prepared& pictures, const data::Resizing& step);
/// The center, or of pictures that are smaller their center in the aspect ratio, resized.
Prepared center_cropped(Builder& builder, const Prepared& pictures, std::int64_t height, std::int64_t width);
/// The center in the aspect ratio, resized: what random_crop makes of pictures outside of training.
Prepared cropped_to_ratio(Builder& builder, const Prepared& pictures, std::int64_t height, std::int64_t width);
/// What pictures are when they are read: bilinear, without antialiasing.
Prepared resized_when_read(Builder& builder, const Prepared& pictures, std::int64_t height, std::int64_t width);

}  // namespace mirrortrain::onnx
