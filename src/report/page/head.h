#pragma once

#include <string>
#include <string_view>

#include "report/page/markup.h"

namespace mirrortrain::report {

/// By which a page of this program is known.
inline constexpr std::string_view kGenerator = R"(<meta name="generator" content="mirrortrain">)";

/// The beginning of a page that is one file and loads nothing.
Markup page_head(const std::string& title);

}  // namespace mirrortrain::report
