#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "data/arrays/npy.h"

namespace mirrortrain::data {
namespace {

// A parser of the small subset of Python's syntax used in these headers.
class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : left_(text), name_(name) {}

  bool take(char wanted) {
    skip_spaces();
    if (left_.empty() || left_.front() != wanted) return false;
    left_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(fmt::format("'{}'", wanted));
  }

  std::string_view text() {
    skip_spaces();
    const char quote = left_.empty() ? '\0' : left_.front();
    if (quote != '\'' && quote != '"') fail("a quoted text");
    const std::size_t end = left_.find(quote, 1);
    if (end == left_.npos) fail("the end of a quoted text");
    const std::string_view result = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    return result;
  }

  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}}) {
      if (!left_.starts_with(word)) continue;
      left_.remove_prefix(word.size());
      return value;
    }
    fail("True or False");
  }

  Shape shape() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!take(')')) {
      dims.push_back(integer());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return Shape(std::move(dims));
  }

  void end() {
    skip_spaces();
    if (!left_.empty()) fail("the end of the header");
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(fmt::format("{}: broken npy header: expected {} before '{}'; save the array again with numpy.save",
                            name_, expected, shortened(left_, 40)));
  }

 private:
  void skip_spaces() { left_.remove_prefix(std::min(left_.find_first_not_of(" \n"), left_.size())); }

  std::int64_t integer() {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    if (error != std::errc() || value < 0) fail("an extent");
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    if (left_.starts_with('L')) left_.remove_prefix(1);  // Python 2's long integers
    return value;
  }

  std::string_view left_;
  const std::string& name_;
};

Element element_of(std::string_view descr, const std::string& name) {
  const auto is_size = [&](std::string_view sizes) { return sizes.find(descr[2]) != sizes.npos; };
  if (descr.size() == 3 && std::string_view("<>|=").find(descr[0]) != descr.npos) {
    const auto bytes = static_cast<std::size_t>(descr[2] - '0');
    const bool big_endian = descr[0] == '>';
    switch (descr[1]) {
      case 'b':
        if (is_size("1")) return {Element::Kind::kBool, bytes, big_endian};
        break;
      case 'u':
        if (is_size("1248")) return {Element::Kind::kUnsigned, bytes, big_endian};
        break;
      case 'i':
        if (is_size("1248")) return {Element::Kind::kSigned, bytes, big_endian};
        break;
      case 'f':
        if (is_size("248")) return {Element::Kind::kFloat, bytes, big_endian};
        break;
      default: break;
    }
  }
  // "<U5": strings of 5 characters; "|O": Python objects, usually also strings.
  const char kind = descr.size() < 2 ? '\0' : descr[1];
  const std::string_view remedy =
      kind == 'U' || kind == 'S' || kind == 'O'
          ? "number texts, as in numpy.unique(array, return_inverse=True)[1], convert objects with astype"
      : kind == 'c'                ? "take its real part, as in array.real, or its size, as in abs(array)"
      : kind == 'M' || kind == 'm' ? "count from a first time, as in (array - array.min()) / numpy.timedelta64(1, 's')"
                                   : "convert it with astype, as in array.astype('float32')";
  throw Error(
      fmt::format("{}: expected an array of bool, integers or floats, found the type '{}'; {}, and save it again", name,
                  shortened(descr, 40), remedy));
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& name) {
  Parser parser(text, name);
  NpyHeader header;
  bool has_descr = false, has_order = false, has_shape = false;
  parser.expect('{');
  while (!parser.take('}')) {
    const std::string_view key = parser.text();
    parser.expect(':');
    if (key == "descr") {
      if (parser.take('['))
        throw Error(
            fmt::format("{}: expected one array, found records with fields; save each field "
                        "as an array of its own",
                        name));
      header.element = element_of(parser.text(), name);
      has_descr = true;
    } else if (key == "fortran_order") {
      header.fortran_order = parser.boolean();
      has_order = true;
    } else if (key == "shape") {
      header.shape = parser.shape();
      has_shape = true;
    } else {
      parser.fail("descr, fortran_order or shape");
    }
    if (!parser.take(',')) {
      parser.expect('}');
      break;
    }
  }
  parser.end();
  if (!has_descr || !has_order || !has_shape) parser.fail("descr, fortran_order and shape");
  return header;
}

}  // namespace mirrortrain::data
