#include <cstdint>

#include "base/files.h"
#include "train/checkpoint/checkpoint_state.h"

// Texts of any bytes, and the same with the checksum that belongs to them: what a flip alone never passes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirrortrain;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  for (const std::string& one : {std::string(text), with_checksum(text)}) {
    try {
      const CheckpointState state = checkpoint_state_from(one);
      checkpoint_state_from(to_text(state));
    } catch (const Error&) {
    }
  }
  return 0;
}
