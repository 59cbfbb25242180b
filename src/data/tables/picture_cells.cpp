#include "data/tables/picture_cells.h"

#include <fmt/format.h>

#include <system_error>

#include "base/utf8.h"

namespace mirrortrain::data {

std::string read_picture(TableCursor& at, const std::filesystem::path& folder) {
  const std::string_view name = at.read_word();
  if (name.empty()) at.fail("expected the path of a picture, found an empty cell; fill it in or remove the row");
  std::string file = (folder / name).string();
  std::error_code unreachable;
  if (std::filesystem::is_regular_file(file, unreachable)) return file;
  at.fail(
      fmt::format("there is no picture {}; correct the path, which is relative to the table's folder, or remove the "
                  "row",
                  shortened(file, 200)));
}

}  // namespace mirrortrain::data
