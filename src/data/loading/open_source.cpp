#include "data/loading/open_source.h"

#include <utility>

#include "data/records/stored_records.h"
#include "data/tables/stored_table.h"
#include "data/tables/table_file.h"
#include "data/text/stored_text.h"

namespace mirrortrain::data {

PictureLabels picture_labels(const std::vector<std::string>* known, const Terms& terms) {
  return {.classes = known, .are_numbers = terms.wants_numbers(0)};
}

CsvTable table_of(const Csv& source, const CsvReading& reading, const Holding& holding, int threads) {
  if (!exceeds_in_memory(source, holding.most_bytes)) return read_table(source, reading);
  return open_table(source, reading, holding.unpacked, threads);
}

Examples records_of(const TfRecord& source, BadExamples& bad, const Terms& terms) {
  if (most_bytes_of_records(source) <= terms.holding.most_bytes) return read(source, bad.if_skips());
  return settled(open_records(source, bad.if_skips(), terms.holding.unpacked), terms.holding, false);
}

TokenWindows windows_of(const Text& source, const Terms& terms) {
  if (most_bytes_of_windows(source) <= terms.holding.most_bytes) return read_windows(source);
  TokenWindows windows = open_windows(source, terms.holding.unpacked);
  windows.examples = settled(std::move(windows.examples), terms.holding, false);
  return windows;
}

}  // namespace mirrortrain::data
