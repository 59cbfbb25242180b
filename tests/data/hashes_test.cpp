// Against TensorFlow's hashes: tools/reference/binning.py.
#include "data/hashes.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace mirrortrain::data {
namespace {

using nlohmann::json;

json golden_hashes() { return parse_json<json>(read_text_file(MIRRORTRAIN_SOURCE_DIR "/tests/golden/binning.json")); }

std::optional<Salt> salt_of(const json& options) {
  if (!options.contains("salt")) return std::nullopt;
  if (options["salt"].is_array()) return options["salt"].get<std::array<std::int64_t, 2>>();
  return options["salt"].get<std::int64_t>();
}

TEST_CASE("the fingerprint of a text of any length is TensorFlow's") {
  const json all = golden_hashes();
  for (const json& one : all["fingerprints"]) {
    CHECK_MESSAGE(fingerprint(one["text"].get<std::string>()) == one["fingerprint"].get<std::uint64_t>(),
                  json_text(one));
  }
}

TEST_CASE("words have the bins of Keras's Hashing, with salt and with a masked word") {
  int compared = 0;
  const json all = golden_hashes();
  for (const json& one : all["cases"]) {
    if (!one["examples"][0].is_string() || one["step"]["hashing"].contains("output_mode")) continue;
    const json& options = one["step"]["hashing"];
    const HashBins bins(options["num_bins"], salt_of(options), options.contains("mask_value"));
    for (std::size_t i = 0; i < one["examples"].size(); ++i) {
      const auto word = one["examples"][i].get<std::string>();
      const bool is_masked = bins.masks() && options["mask_value"] == word;
      CHECK_MESSAGE((is_masked ? 0 : bins(word)) == one["made"][i].get<std::int64_t>(), json_text(options), " ", word);
      ++compared;
    }
  }
  CHECK(compared == 48);
}

TEST_CASE("words that are crossed have the bins of Keras's HashedCrossing") {
  const json all = golden_hashes();
  for (const json& one : all["crossings"]) {
    if (one["options"].contains("output_mode") || !one["integers"].empty()) continue;
    for (std::size_t row = 0; row < one["made"].size(); ++row) {
      std::vector<std::uint64_t> fingerprints;
      for (const json& column : one["columns"]) fingerprints.push_back(fingerprint(column[row].get<std::string>()));
      CHECK(crossed_bin(fingerprints, one["options"]["num_bins"]) == one["made"][row].get<std::int64_t>());
    }
  }
}

}  // namespace
}  // namespace mirrortrain::data
