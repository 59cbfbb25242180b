#include "data/kept_findings.h"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <span>

#include "base/files.h"
#include "base/json.h"

namespace mirrortrain::data {
namespace {

namespace fs = std::filesystem;

fs::path cache_file(const std::string& kind, const std::string& identity) {
  const fs::path folder = findings_folder();
  if (folder.empty()) return {};
  return folder / fmt::format("{}-{:08x}.json", kind, crc32_of(std::as_bytes(std::span(identity))));
}

}  // namespace

fs::path findings_folder() {
  if (const char* const given = std::getenv("XDG_CACHE_HOME"); given != nullptr && given[0] == '/') {
    return fs::path(given) / "mirrortrain";
  }
  if (const char* const home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return fs::path(home) / ".cache" / "mirrortrain";
  }
  return {};
}

std::optional<nlohmann::json> kept_finding(const std::string& kind, const std::string& identity) {
  const fs::path file = cache_file(kind, identity);
  std::error_code none;
  if (file.empty() || !fs::is_regular_file(file, none)) return std::nullopt;
  try {
    auto json = parse_json<nlohmann::json>(read_text_file(file));
    if (json.at("identity") != identity) return std::nullopt;
    return std::move(json.at("finding"));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void keep_finding(const std::string& kind, const std::string& identity, const nlohmann::json& finding) {
  const fs::path file = cache_file(kind, identity);
  if (file.empty()) return;
  try {
    create_folders(file.parent_path());
    write_file(file, json_text(nlohmann::json{{"identity", identity}, {"finding", finding}}) + "\n");
  } catch (const std::exception&) {
  }
}

}  // namespace mirrortrain::data
