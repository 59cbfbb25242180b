#include "config/read_yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "config/text_check.h"
#include "config/tree_builder.h"

namespace mirrortrain::config {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Value parse(std::string_view text, const Source& source, Errors& errors) {
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(text, source, errors);
  try {
    YAML::Parser parser(stream);
    // The second call finds the end, or a second document, which the builder refuses.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    const bool placed = !error.mark.is_null();
    throw Refused{placed ? builder.at(error.mark) : source.at(1, 1), "not valid YAML: " + error.msg};
  }
  return builder.take();
}

}  // namespace

std::optional<Value> read_yaml(std::string_view text, const Source& source, Errors& errors) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  try {
    if (text.size() > kMostBytes) {
      throw Refused{source.at(1, 1),
                    fmt::format("more than {} MiB; put large data in a file of its own", kMostBytes >> 20)};
    }
    if (const auto fault = find_fault(text)) throw Refused{source.at(fault->line, fault->column), fault->message};
    Value value = parse(text, source, errors);
    if (!value.place().given()) value.move_to(source.at(1, 1));
    return value;
  } catch (const Refused& refused) {
    errors.add(refused.place, source.path, refused.message);
    return std::nullopt;
  }
}

}  // namespace mirrortrain::config
