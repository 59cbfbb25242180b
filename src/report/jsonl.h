#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "base/files.h"
#include "report/event.h"

namespace mirrortrain::report {

/// An event as one line of JSON without the line's end, numbers in full precision. Of NaN and infinity, which JSON
/// lacks, a score becomes null and a state the text "NaN", "Infinity" or "-Infinity". Empty for what is no line there.
std::string to_json(const Event& event);

/// metrics.jsonl: appends one object per line, unbuffered.
class JsonlWriter : public Writer {
 public:
  /// Creates the file or appends to it; `lines`: how many it has. Throws Error where it cannot be opened.
  explicit JsonlWriter(const std::filesystem::path& path, std::int64_t lines = 0);

  void write(const Event& event) override;
  std::int64_t lines() const { return lines_; }
  /// Makes written events survive a power cut. Throws Error if the file was moved, removed or replaced.
  void sync();

 private:
  std::filesystem::path path_;
  OutputFile file_;
  std::int64_t lines_;
};

/// What a resumed run repeats, in addition to the steps after its checkpoint.
struct DoneAgain {
  bool evaluations = false;  ///< those of the checkpoint's step, and the other work at the end of a run
  std::int64_t lines = std::numeric_limits<std::int64_t>::max();  ///< everything after so many lines
};

/// Truncates a metrics.jsonl to `step`: removes the lines of later steps, every `end`, an unfinished last line, and
/// events that are repeated. Atomic; a missing file is not created. Returns the number of remaining lines.
std::int64_t cut_back_jsonl(const std::filesystem::path& path, std::int64_t step, const DoneAgain& again = {});

}  // namespace mirrortrain::report
