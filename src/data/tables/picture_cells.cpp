#include "data/tables/picture_cells.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "data/pictures/picture_files.h"

namespace mirrortrain::data {

std::string read_picture(TableCursor& at, const std::filesystem::path& folder) {
  const std::string_view name = at.read_word();
  if (name.empty()) at.fail("expected the path of a picture, found an empty cell; fill it in or remove the row");
  if (!is_below(name)) {
    at.fail(
        fmt::format("expected the path of a picture below the table's folder, found '{}'; move the pictures there, "
                    "or link them",
                    shortened(name, 200)));
  }
  std::string file = (folder / name).string();
  if (is_file(file)) return file;
  at.fail(
      fmt::format("there is no picture {}; correct the path, which is relative to the table's folder, or remove the "
                  "row",
                  shortened(file, 200)));
}

}  // namespace mirrortrain::data
