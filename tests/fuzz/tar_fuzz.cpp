#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "data/records/webdataset.h"
#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirrortrain;
  const fuzz::InputFile file(bytes, size);
  // Compressed archives are unpacked there.
  const data::UnpackedFiles cache((std::filesystem::temp_directory_path() / "mirrortrain-fuzz-tar").string());
  data::WebDataset source;
  source.file = config::Path{file.path()};
  for (const bool skips : {false, true}) {
    data::BadExamples bad(data::OnBadExample::kSkip);
    try {
      const data::Examples examples = data::open_samples(source, skips ? &bad : nullptr, cache);
      for (std::int64_t row = 0; row < examples.rows() && row < 8; ++row) {
        if (examples.inputs[0].source->row_text(row).empty()) std::abort();
        static_cast<void>(examples.inputs[0].source->fault(row));
      }
    } catch (const Error&) {
    }
  }
  cache.clean();
  return 0;
}
