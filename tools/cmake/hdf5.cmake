# HDF5, for weights of Keras, is optional: MIRRORTRAIN_WITH_HDF5 says whether it is built.
option(MIRRORTRAIN_HDF5 "Build for files of Keras where HDF5 is found" ON)
set(MIRRORTRAIN_WITH_HDF5 OFF)
if(MIRRORTRAIN_HDF5)
  pkg_check_modules(hdf5 QUIET IMPORTED_TARGET hdf5)
  if(hdf5_FOUND)
    set(MIRRORTRAIN_WITH_HDF5 ON)
    # Programs of this build find the module libmirrortrain_hdf5.so here, installed ones in a folder of their own.
    list(APPEND CMAKE_BUILD_RPATH "$ORIGIN" ${CMAKE_BINARY_DIR})
  endif()
endif()
if(NOT MIRRORTRAIN_WITH_HDF5)
  message(STATUS "No HDF5 (libhdf5-dev): models of Keras are refused")
endif()
