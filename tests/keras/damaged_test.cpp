// Files of damaged bytes: an error, never a crash.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "keras/reading/convert_model.h"
#include "keras/reading/convert_training.h"
#include "keras/reading/keras_file.h"
#include "temporary_folder.h"

using namespace mirrortrain;

namespace {

namespace fs = std::filesystem;

const fs::path kModels = fs::path(MIRRORTRAIN_SOURCE_DIR) / "tests/golden/keras-files";

/// Whether the file could be read and converted; else an Error was thrown.
bool is_whole(const fs::path& path) {
  try {
    const keras::KerasFile file = keras::read_keras_file(path);
    keras::Problems problems;
    const keras::ConvertedModel model = keras::convert_model(file.model, file.weights, problems);
    keras::convert_training(file.compiled, model.outputs, model.output_names, problems);
    problems.throw_if_any(path.string());
    return true;
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(path.filename().string()) != std::string::npos);
    return false;
  }
}

/// Without waiting for a disk, as files that last do.
void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// Reads the file cut off, and with bytes changed, at places throughout.
void survives(const fs::path& source, std::size_t places) {
  const TemporaryFolder temporary;
  const std::string whole = read_text_file(source);
  const fs::path path = temporary / ("damaged" + source.extension().string());
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t at = whole.size() * i / places;
    CAPTURE(at);
    write(path, whole.substr(0, at));
    CHECK_FALSE(is_whole(path));
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (i % 2 == 0 ? 0x10 : 0xff));
    write(path, changed);
    is_whole(path);
  }
}

}  // namespace

TEST_CASE("truncated and altered .keras files are errors") {
  survives(kModels / "nested-several/model.keras", 150);
  survives(kModels / "mlp/model.keras", 100);
}

TEST_CASE("truncated and altered .h5 files are errors") { survives(kModels / "legacy-sequential/model.h5", 250); }

TEST_CASE("an archive without a model says what is missing") {
  const TemporaryFolder temporary;
  const fs::path path = temporary / "x.keras";
  write_file(path, "PK\5\6" + std::string(18, '\0'));
  CHECK_FALSE(is_whole(path));
}
