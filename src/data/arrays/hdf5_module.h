#pragma once

#include <cstdint>

// What the module libmirrortrain_hdf5.so has for data: it alone is linked with HDF5.

extern "C" {

/// Looks for a dataset in a file, without reading it, and writes to the descriptor `about` as JSON {"datasets": [PATH,
/// ...]} and, if it is there, {"found": {"kind": "float", "bytes": 4, "big_endian": false, "shape": [...], "offset":
/// ...}} with the place of the elements where they lie one after the other, else {..., "chunk": [...], "filters":
/// [{"id": ..., "name": ...}, ...]}: then `chunks` gets for each chunk, in the order of the elements, its place as 8
/// bytes, its size as 4, and as 4 the filters that were left out. Kinds: float, signed, unsigned, bool, or, of those
/// that cannot be read, what they are. Errors are {"error": ...}. Returns false where that cannot be written.
__attribute__((visibility("default"))) bool mirrortrain_find_hdf5_dataset(const char* file, const char* dataset,
                                                                          int chunks, int about) noexcept;
}
