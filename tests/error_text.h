#pragma once

#include <string>

#include "base/error.h"

namespace mirrortrain {

/// What the Error thrown by `body` says; "no error" where it throws none.
template <class Body>
std::string error_text(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace mirrortrain
