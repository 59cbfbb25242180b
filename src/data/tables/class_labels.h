#pragma once

#include <string>
#include <vector>

#include "data/bad_examples.h"
#include "data/tables/csv_table.h"

namespace mirrortrain::data {

/// Replaces an output's labels, which are words by their number in table.label_words, by the numbers of their classes.
/// Rows with a word that is no class are left out and collected in `bad`; if that is null, the first is an Error.
void number_labels(CsvTable& table, std::size_t output, const std::vector<std::string>& classes, BadExamples* bad);

}  // namespace mirrortrain::data
