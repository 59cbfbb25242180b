#pragma once

namespace mirrortrain {

/// Calls function(other) for every other rank of `size`, the next one first: so not all send to the same one at a time.
template <class Function>
void for_others(int rank, int size, const Function& function) {
  for (int step = 1; step < size; ++step) function((rank + step) % size);
}

}  // namespace mirrortrain
