// Rows of a table that are kept, of everything that it has.
#include <memory>
#include <utility>

#include "data/tables/csv_table.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

/// The pictures of some rows.
class PickedPaths : public StoredPaths {
 public:
  PickedPaths(std::shared_ptr<const StoredPaths> from, std::vector<std::int64_t> rows)
      : from_(std::move(from)), rows_(std::move(rows)) {}
  std::string path(std::int64_t row) const override { return from_->path(rows_[static_cast<std::size_t>(row)]); }

 private:
  std::shared_ptr<const StoredPaths> from_;
  std::vector<std::int64_t> rows_;
};

}  // namespace

void keep_rows(CsvTable& table, const std::vector<std::int64_t>& rows) {
  keep_rows(table.features, rows);
  table.facts.clear();
  for (TableContent& content : table.contents) {
    if (content.tokens) keep_rows(*content.tokens, rows);
    if (content.paths) content.paths = std::make_shared<PickedPaths>(std::move(content.paths), rows);
    if (content.pictures.empty()) continue;
    std::vector<std::string> kept;
    for (const std::int64_t row : rows) kept.push_back(std::move(content.pictures[static_cast<std::size_t>(row)]));
    content.pictures = std::move(kept);
  }
  for (Labels& labels : table.outputs) keep_rows(labels, rows);
}

}  // namespace mirrortrain::data
