#pragma once

#include <string_view>

namespace mirrortrain::report {

// The texts of files of this folder and of third_party, which the build embeds in the program.
extern const std::string_view kPageStyle, kPageScript;
extern const std::string_view kPlotLibrary, kPlotLicence;

}  // namespace mirrortrain::report
