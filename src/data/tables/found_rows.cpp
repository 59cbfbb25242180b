#include "data/tables/found_rows.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain::data {

bool begins_with_header(std::string_view rest, std::string_view header) {
  if (header.empty() || !rest.starts_with(header)) return false;
  return rest.size() == header.size() || rest[header.size()] == '\n' || rest[header.size()] == '\r';
}

std::string repeated_header_text(const std::string& place, std::int64_t times) {
  return fmt::format("{}: the header occurs again here{}, and is passed over", place,
                     times == 1 ? std::string() : fmt::format(" and in {} lines more", times - 1));
}

void fail_at_long_row(const std::string& file, std::int64_t line, std::string_view remedy) {
  throw Error(fmt::format("{}:{}: the row that begins here does not end within {} MiB; {}", file, line,
                          kLongestRow >> 20, remedy));
}

}  // namespace mirrortrain::data
