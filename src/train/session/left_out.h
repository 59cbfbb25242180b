#pragma once

#include <span>
#include <string>

#include "data/bad_examples.h"
#include "data/dataset.h"

/// Reports of examples that could not be read and were left out, and of how data were read.
namespace mirrortrain {

struct Run;

/// Where the list of left-out examples is written.
enum class LeftOutList {
  kFirst,  ///< the first ones, to the console
  kLog,    ///< all known ones, only to the log file
  kAll,    ///< all known ones, to the console
};
/// Reports how many examples of each data set were left out, if any.
void report_left_out(std::span<const data::Dataset* const> datasets, LeftOutList list);
void report_left_out(const Run& run, LeftOutList list);
/// The known reasons, each in a line of its own behind a colon, and how many more there are.
std::string reasons_text(const data::LeftOut& left);
/// The same in one line or, with the first reasons, several.
std::string left_out_text(const data::LeftOut& left, LeftOutList list);
/// Warns of remarks on how data were read, if they are not reported elsewhere.
void warn_of_remarks(const data::Dataset& dataset);

}  // namespace mirrortrain
