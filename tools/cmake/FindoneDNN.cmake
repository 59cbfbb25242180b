# oneDNN as the target DNNL::dnnl. Not through oneDNN's own package file: Debian 12's asks for OpenCL's headers, which the
# CPU side does without.
find_path(ONEDNN_INCLUDE_DIR dnnl.hpp)
find_library(ONEDNN_LIBRARY dnnl)
mark_as_advanced(ONEDNN_INCLUDE_DIR ONEDNN_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN REQUIRED_VARS ONEDNN_LIBRARY ONEDNN_INCLUDE_DIR)

if(oneDNN_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${ONEDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${ONEDNN_INCLUDE_DIR})
endif()
