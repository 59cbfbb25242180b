#include "model/formula/expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/formula/parser.h"

namespace mirrortrain::formula {

FormulaError::FormulaError(std::string_view formula, std::size_t at, std::string_view message)
    : Error([&] {
        at = std::min(at, formula.size());
        const std::size_t before = formula.substr(0, at).rfind('\n');
        const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
        const auto line = 1 + std::ranges::count(formula.substr(0, at), '\n');
        std::string_view shown = formula.substr(start, formula.find('\n', at) - start);
        // A long line is shown from near the place on.
        constexpr std::size_t kMostBefore = 60, kMostShown = 100;
        std::size_t skipped = at - start > kMostBefore ? at - start - kMostBefore : 0;
        while (skipped > 0 && skipped < shown.size() && (shown[skipped] & 0xC0) == 0x80) ++skipped;
        shown = shown.substr(skipped, kMostShown);
        return fmt::format("in the formula, line {}, column {}: {}\n    {}\n    {:>{}}", line, at - start + 1, message,
                           shown, '^', at - start - skipped + 1);
      }()) {}

bool reads(const Expression& tree, std::string_view name) {
  if (tree.kind == Expression::Kind::kName && tree.name == name) return true;
  return std::ranges::any_of(tree.arguments, [name](const Expression& argument) { return reads(argument, name); });
}

bool is_reserved(std::string_view word) {
  const Function* const function = find_function(word);
  return (function != nullptr && !function->is_operator) ||
         std::ranges::find(kConstants, word, &Constant::name) != kConstants.end() ||
         std::ranges::find(kKeywords, word) != kKeywords.end();
}

Expression parse(std::string_view formula) { return Parser(formula).run(); }

std::string syntax_mistake(std::string_view formula) {
  try {
    parse(formula);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace mirrortrain::formula
