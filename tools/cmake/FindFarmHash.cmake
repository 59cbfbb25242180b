# farmhash as the target FarmHash::farmhash; Debian's package has no file of its own for CMake or pkg-config.
find_path(FARMHASH_INCLUDE_DIR farmhash.h)
find_library(FARMHASH_LIBRARY farmhash)
mark_as_advanced(FARMHASH_INCLUDE_DIR FARMHASH_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FarmHash REQUIRED_VARS FARMHASH_LIBRARY FARMHASH_INCLUDE_DIR)

if(FarmHash_FOUND AND NOT TARGET FarmHash::farmhash)
  add_library(FarmHash::farmhash UNKNOWN IMPORTED)
  set_target_properties(FarmHash::farmhash PROPERTIES IMPORTED_LOCATION ${FARMHASH_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${FARMHASH_INCLUDE_DIR})
endif()
