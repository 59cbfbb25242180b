#pragma once

#include "data/tables/adapted.h"

namespace mirrortrain::data {

/// Throws Error if the training data's classes or words are not those that a run was trained with: their numbers would
/// have another meaning.
void require_same_words(const Adapted& now, const Adapted& before);

}  // namespace mirrortrain::data
