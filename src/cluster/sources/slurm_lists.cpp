#include "cluster/sources/slurm_lists.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/error.h"
#include "cluster/cluster_rules.h"

namespace mirrortrain {
namespace {

/// Splits the text at commas outside brackets.
std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || text.front() == '-')
    return std::nullopt;
  return number;
}

/// Expands one name's brackets from left to right.
class HostNames {
 public:
  /// False if the syntax is not SLURM's, or there would be more names than a cluster can have.
  bool add(const std::string& before, std::string_view rest) {
    const std::size_t open = rest.find('[');
    const std::size_t close = rest.find(']');
    if (open == std::string_view::npos) {
      if (close != std::string_view::npos || before.size() + rest.size() == 0) return false;
      names.push_back(before + std::string(rest));
      return names.size() <= kMostTasks;
    }
    if (close == std::string_view::npos || close < open) return false;
    for (const std::string_view range : split_at_commas(rest.substr(open + 1, close - open - 1))) {
      if (!add_range(before + std::string(rest.substr(0, open)), range, rest.substr(close + 1))) return false;
    }
    return true;
  }

  std::vector<std::string> names;

 private:
  bool add_range(const std::string& before, std::string_view range, std::string_view rest) {
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const auto first = number_of(low);
    const auto last = dash == std::string_view::npos ? first : number_of(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostTasks) return false;
    for (int number = *first; number <= *last; ++number) {
      if (!add(fmt::format("{}{:0{}}", before, number, low.size()), rest)) return false;
    }
    return true;
  }
};

}  // namespace

std::vector<std::string> expand_host_list(std::string_view text, const std::string& variable) {
  HostNames hosts;
  for (const std::string_view part : split_at_commas(text)) {
    if (!hosts.add("", part)) {
      throw UsageError(
          fmt::format("{}: expected names of nodes such as node[01-03,7],other, found \"{}\"", variable, text));
    }
  }
  return std::move(hosts.names);
}

std::vector<int> expand_counts(std::string_view text, const std::string& variable) {
  std::vector<int> counts;
  for (const std::string_view part : split_at_commas(text)) {
    const std::size_t open = part.find("(x");
    const auto count = number_of(part.substr(0, open));
    auto times = std::optional(1);
    if (open != std::string_view::npos) {
      times = part.ends_with(')') ? number_of(part.substr(open + 2, part.size() - open - 3)) : std::nullopt;
    }
    if (!count || !times || *times > kMostTasks || counts.size() > kMostTasks) {
      throw UsageError(fmt::format("{}: expected numbers of tasks such as 2(x3),1, found \"{}\"", variable, text));
    }
    counts.insert(counts.end(), static_cast<std::size_t>(*times), *count);
  }
  return counts;
}

}  // namespace mirrortrain
