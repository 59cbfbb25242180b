#pragma once

#include <cstdint>
#include <string>

#include "data/preprocessing/picture_preprocessing.h"
#include "onnx/builder.h"

namespace mirrortrain::onnx {

/// For each of `to` lines of a resized picture, the share of each of the picture's lines: float32 [to, lines]. `lines`:
/// their number, int64 [1]. As data/pictures/resample.cpp computes it.
std::string shares(Builder& builder, const std::string& lines, std::int64_t to, data::Interpolation interpolation,
                   bool antialias);

}  // namespace mirrortrain::onnx
