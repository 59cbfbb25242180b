#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "report/event.h"

namespace mirrortrain::report {

/// An event as one line of JSON without the line's end, numbers in full precision. Of NaN and infinity, which JSON
/// lacks, a score becomes null and a state the text "NaN", "Infinity" or "-Infinity". Empty for progress.
std::string to_json(const Event& event);

/// metrics.jsonl: appends one object a line, each handed to the system as it is written.
class JsonlWriter : public Writer {
 public:
  /// Creates the file or appends to it. Throws Error where it cannot be opened.
  explicit JsonlWriter(const std::filesystem::path& path);

  void write(const Event& event) override;

 private:
  OutputFile file_;
};

/// Removes from a metrics.jsonl what was written after `step` was done: the lines of later steps, every `end`, and a
/// last line that was not finished. Atomic; a missing file stays missing.
void cut_back_jsonl(const std::filesystem::path& path, std::int64_t step);

}  // namespace mirrortrain::report
