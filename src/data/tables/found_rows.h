#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mirrortrain::data {

// What looks for rows of CSV, in memory, in a file or from a pipe, has in common.

/// Whether a file's header, as written, occurs again, as in concatenated files, at the beginning of `rest`, where a row
/// begins. `header`: empty if there is none.
bool begins_with_header(std::string_view rest, std::string_view header);
/// The remark on a header that occurs again, so often, for the first time at `place`.
std::string repeated_header_text(const std::string& place, std::int64_t times);

/// So many bytes of a row are read in search of its end: a longer one is one whose quote is never closed.
inline constexpr std::uint64_t kLongestRow = std::uint64_t{64} << 20;
/// Throws Error: the row that begins at this line is longer.
[[noreturn]] void fail_at_long_row(const std::string& file, std::int64_t line,
                                   std::string_view remedy = "close its quotes");

}  // namespace mirrortrain::data
