#pragma once

// What the tests read from Markdown pages.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"

namespace mirrortrain::testing {

namespace fs = std::filesystem;

/// The repository.
inline fs::path root() { return MIRRORTRAIN_SOURCE_DIR; }

/// All pages for readers, by their paths in the repository.
inline std::vector<fs::path> all_pages() {
  std::vector<fs::path> pages = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md"};
  for (const char* folder : {"docs", "configs", "data", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root() / folder)) {
      const fs::path page = fs::relative(entry.path(), root());
      const bool is_of_package = page == "tools/packaged/README.md";  // its links start where tools/package puts it
      if (page.extension() == ".md" && !is_of_package) pages.push_back(page);
    }
  }
  std::ranges::sort(pages);
  return pages;
}

/// The page's code blocks of one language, as ```sh, without the fences.
inline std::vector<std::string> code_blocks(const std::string& page, const std::string& language) {
  std::vector<std::string> blocks;
  std::istringstream lines(page);
  bool is_in_block = false, is_wanted = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      is_in_block = !is_in_block;
      is_wanted = is_in_block && line.substr(3) == language;
      if (is_wanted) blocks.emplace_back();
    } else if (is_wanted) {
      blocks.back() += line + '\n';
    }
  }
  return blocks;
}

/// A link or a picture of a page, and the line that it is in, counted from 1.
struct Link {
  std::string target;
  int line = 0;
};

/// A page as far as links go: where they lead, and the anchors of its headings.
struct Page {
  std::vector<Link> links;
  std::set<std::string> anchors;
};

/// A heading's anchor as GitHub makes it: in lower case, without punctuation, a hyphen for each space.
inline std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const bool is_beyond_ascii = static_cast<unsigned char>(c) >= 0x80;
    if (c >= 'A' && c <= 'Z') {
      anchor += static_cast<char>(c - 'A' + 'a');
    } else if (c == ' ') {
      anchor += '-';
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || is_beyond_ascii) {
      anchor += c;
    }
  }
  return anchor;
}

/// A line without its `code`, in which nothing is a link.
inline std::string without_code(const std::string& line) {
  std::string text;
  bool is_code = false;
  for (const char c : line) {
    if (c == '`') is_code = !is_code;
    if (!is_code && c != '`') text += c;
  }
  return text;
}

inline void add_links(const std::string& line, int number, std::vector<Link>& links) {
  for (std::size_t at = line.find("]("); at != std::string::npos; at = line.find("](", at)) {
    const std::size_t begin = at + 2, end = line.find(')', begin);
    if (end == std::string::npos) return;
    links.push_back({line.substr(begin, end - begin), number});
    at = end;
  }
}

/// Reads a page; of headings that are alike, the later ones get "-1", "-2" and so on, as on GitHub.
inline Page read_page(const std::string& text) {
  Page page;
  std::map<std::string, int> uses;
  std::istringstream lines(text);
  bool is_code = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find("```") == line.find_first_not_of(' ') && line.find("```") != std::string::npos) is_code = !is_code;
    if (is_code) continue;
    add_links(without_code(line), number, page.links);
    const std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level > 6 || level == std::string::npos || line[level] != ' ') continue;
    const std::string anchor = anchor_of(line.substr(level + 1));
    const int earlier = uses[anchor]++;
    page.anchors.insert(earlier == 0 ? anchor : anchor + "-" + std::to_string(earlier));
  }
  return page;
}

}  // namespace mirrortrain::testing
