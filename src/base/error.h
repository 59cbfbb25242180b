#pragma once

#include <stdexcept>
#include <string>

namespace mirrortrain {

/// An error reported to the user: `what()` names the place, what was expected, what was found and the remedy. Ends the
/// program with exit code 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The command line or the configuration is wrong (an occupied run folder and an absent GPU included).
class UsageError : public Error {
 public:
  using Error::Error;
  static constexpr int kExitCode = 2;  ///< of the program
};

}  // namespace mirrortrain
