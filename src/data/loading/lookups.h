#pragma once

#include <cstdint>
#include <string>

#include "data/example_spec.h"
#include "data/tables/adapted.h"

namespace mirrortrain::data {

/// Numbers together the words of all columns whose numbers one embedding looks up, so that a number means one word
/// there: of several inputs, if a layer is reused, and of one with several columns. Throws Error where they can have no
/// common numbers, as words and tokens of texts. `spec`: null for no model.
void number_together(AdaptedTable& table, const ExampleSpec* spec, const std::string& origin);

/// Throws Error where numbers that the columns can give, also in new data, are none that the embedding has a row for,
/// or where 0 is a word, but masked. A trained model is not checked: its columns are those that it was trained with.
void check_lookups(const AdaptedTable& table, const ExampleSpec* spec, const std::string& origin);
/// The same for tokens of texts; the model has one input.
void check_lookups(std::int64_t tokens, const ExampleSpec* spec, const std::string& origin);

}  // namespace mirrortrain::data
