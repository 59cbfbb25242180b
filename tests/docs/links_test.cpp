// Every link of the pages leads somewhere: to a file of the repository and, behind '#', to a heading of it.
#include <doctest/doctest.h>

#include "docs/markdown.h"

namespace mirrortrain::testing {
namespace {

bool is_elsewhere(const std::string& target) {
  return target.starts_with("http://") || target.starts_with("https://") || target.starts_with("mailto:");
}

/// Why a link of the page `from` leads nowhere; empty where it leads somewhere.
std::string wrong_with(const Link& link, const fs::path& from, std::map<fs::path, Page>& pages) {
  const std::size_t hash = link.target.find('#');
  const std::string file = link.target.substr(0, hash);
  const fs::path to = file.empty() ? from : (from.parent_path() / file).lexically_normal();
  if (to.is_absolute() || to.string().starts_with("..")) return "leaves the repository";
  if (!fs::exists(root() / to)) return "no such file: " + to.string();
  if (hash == std::string::npos) return "";
  if (to.extension() != ".md") return "an anchor of a file that is no page: " + to.string();
  if (!pages.contains(to)) pages[to] = read_page(read_text_file(root() / to));
  const std::string anchor = link.target.substr(hash + 1);
  return pages[to].anchors.contains(anchor) ? "" : "no heading has this anchor in " + to.string();
}

TEST_CASE("links of the documentation lead to files and headings that exist") {
  std::map<fs::path, Page> pages;
  for (const fs::path& path : all_pages()) pages[path] = read_page(read_text_file(root() / path));
  int links = 0;
  for (const fs::path& path : all_pages()) {
    const std::vector<Link> of_page = pages[path].links;
    for (const Link& link : of_page) {
      if (is_elsewhere(link.target)) continue;
      ++links;
      const std::string wrong = wrong_with(link, path, pages);
      CHECK_MESSAGE(wrong == "", path.string(), ":", link.line, ": ", link.target, ": ", wrong);
    }
  }
  CHECK(links > 500);
}

/// The files that a page links to, relative to it.
std::set<std::string> files_named_by(const std::string& page) {
  std::set<std::string> files;
  for (const Link& link : read_page(read_text_file(root() / page)).links) {
    files.insert(link.target.substr(0, link.target.find('#')));
  }
  return files;
}

TEST_CASE("the index of docs/ names every page") {
  const std::set<std::string> named = files_named_by("docs/README.md");
  for (const fs::path& path : all_pages()) {
    const std::string name = path.string();
    if (!name.starts_with("docs/") || name == "docs/README.md") continue;
    CHECK_MESSAGE(named.contains(name.substr(5)), name);
  }
}

TEST_CASE("the index of configs/ names every example") {
  const std::set<std::string> named = files_named_by("configs/README.md");
  for (const auto& entry : fs::recursive_directory_iterator(root() / "configs")) {
    const std::string name = fs::relative(entry.path(), root() / "configs").string();
    if (entry.path().extension() == ".yaml") CHECK_MESSAGE(named.contains(name), name);
  }
}

TEST_CASE("a broken link is found with its line, and code has no links") {
  const Page page =
      read_page("# A page\n\n```\n[no](link)\n```\n`[no](link)` [one](#a-page) [two](#nothing)\n## A page\n");
  REQUIRE(page.links.size() == 2);
  CHECK(page.links[1].target == "#nothing");
  CHECK(page.links[1].line == 6);
  CHECK(page.anchors == std::set<std::string>{"a-page", "a-page-1"});
  std::map<fs::path, Page> pages = {{"README.md", page}};
  CHECK(wrong_with(page.links[0], "README.md", pages) == "");
  CHECK(wrong_with(page.links[1], "README.md", pages) == "no heading has this anchor in README.md");
  CHECK(wrong_with({"docs/nothing.md", 1}, "README.md", pages) == "no such file: docs/nothing.md");
  CHECK(wrong_with({"../README.md", 1}, "README.md", pages) == "leaves the repository");
  CHECK(anchor_of("Resuming: `fit --resume`") == "resuming-fit---resume");
}

}  // namespace
}  // namespace mirrortrain::testing
