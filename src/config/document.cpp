#include "config/document.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "config/overrides.h"
#include "config/read_yaml.h"

namespace mirrortrain::config {
namespace {

// One byte more than is allowed, so that a file too large is seen as such however large it is.
std::string read_file(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw UsageError(fmt::format("{}: expected a configuration file, found a folder", file));
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UsageError(fmt::format("{}: cannot open the configuration: {}", file, std::strerror(errno)));
  std::string text(kMostBytes + 4, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) throw UsageError(fmt::format("{}: cannot read the configuration: {}", file, std::strerror(errno)));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace

Document load(const std::string& file, std::span<const std::string> overrides, Errors& errors) {
  return load_text(read_file(file), file, overrides, errors);
}

Document load_text(std::string_view text, const std::string& name, std::span<const std::string> overrides,
                   Errors& errors) {
  const Source source{std::make_shared<const std::string>(name), true, 0, ""};
  auto root = read_yaml(text, source, errors);
  Document document;
  if (!root) {
    apply_overrides(overrides, document.root, document.replaced, errors);
    errors.throw_if_any();
  }
  document.root = std::move(*root);
  apply_overrides(overrides, document.root, document.replaced, errors);
  return document;
}

Value detail::parse_option(const std::string& option, std::string_view text) {
  Errors errors;
  auto value = read_yaml(text, {std::make_shared<const std::string>(option), false, 0, ""}, errors);
  errors.throw_if_any();
  return std::move(*value);
}

}  // namespace mirrortrain::config
