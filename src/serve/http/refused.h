#pragma once

#include <exception>
#include <new>
#include <string>

#include "base/error.h"

namespace mirrortrain {

/// A request that cannot be answered as it is: what HTTP says of it.
class Refused : public Error {
 public:
  explicit Refused(const std::string& why, int status = 400) : Error(why), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

/// Does `work`; where that throws, calls `refuse` with what HTTP says of it: a status and why.
template <class Work, class Refuse>
void work_or_refuse(const Work& work, const Refuse& refuse) {
  try {
    work();
  } catch (const Refused& refused) {
    refuse(refused.status(), refused.what());
  } catch (const Error& error) {
    refuse(400, error.what());
  } catch (const std::bad_alloc&) {
    refuse(503, "there is no memory for this request now; send fewer examples at once");
  } catch (const std::exception& error) {
    refuse(500, error.what());
  }
}

}  // namespace mirrortrain
