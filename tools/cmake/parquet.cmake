# Arrow's C++ library, for Parquet files, is optional: MIRRORTRAIN_WITH_PARQUET says whether it is built. It is that of the
# system or of pip's pyarrow: MIRRORTRAIN_ARROW_ROOT, or the pyarrow of the python3 on the PATH. Gives mirrortrain_arrow, and
# in MIRRORTRAIN_ARROW_LIBRARIES the folder of the libraries, where it is not the system's. Nothing that is found is kept in
# CMake's cache: another environment, or a newer pyarrow in it, counts from the next configuration on.
option(MIRRORTRAIN_PARQUET "Read Parquet where Arrow's C++ library is found" ON)
set(MIRRORTRAIN_ARROW_ROOT "" CACHE PATH "A folder with include/ and Arrow's libraries, such as a Python environment's pyarrow")
set(MIRRORTRAIN_WITH_PARQUET OFF)
set(MIRRORTRAIN_ARROW_LIBRARIES "")
if(MIRRORTRAIN_PARQUET)
  set(arrow_roots ${MIRRORTRAIN_ARROW_ROOT})
  if(NOT arrow_roots)
    find_program(arrow_python python3 NO_CACHE)
    if(arrow_python)
      # Without importing it: where the package lies.
      execute_process(COMMAND ${arrow_python} -c
        "import importlib.util as u; s = u.find_spec('pyarrow'); print(s.submodule_search_locations[0] if s else '', end='')"
        OUTPUT_VARIABLE arrow_roots ERROR_QUIET TIMEOUT 30)
    endif()
  endif()
  if(MIRRORTRAIN_ARROW_ROOT AND NOT EXISTS ${MIRRORTRAIN_ARROW_ROOT}/include/parquet/arrow/reader.h)
    message(FATAL_ERROR "MIRRORTRAIN_ARROW_ROOT (${MIRRORTRAIN_ARROW_ROOT}) has no include/parquet/arrow/reader.h. Expected a "
      "folder with include/ and Arrow's libraries, such as ENVIRONMENT/lib/python3.11/site-packages/pyarrow")
  endif()
  find_path(arrow_headers parquet/arrow/reader.h HINTS ${arrow_roots}/include NO_CACHE)
  if(arrow_headers)
    # pip's have no name without a number.
    file(STRINGS ${arrow_headers}/arrow/util/config.h arrow_version REGEX "define ARROW_VERSION_(MAJOR|MINOR) ")
    string(REGEX REPLACE "[^0-9;]" "" arrow_version "${arrow_version}")
    list(GET arrow_version 0 arrow_major)
    list(GET arrow_version 1 arrow_minor)
    math(EXPR arrow_number "${arrow_major} * 100 + ${arrow_minor}")
    find_library(arrow_library NAMES arrow libarrow.so.${arrow_number} HINTS ${arrow_headers}/.. ${arrow_headers}/../lib NO_CACHE)
    find_library(parquet_library NAMES parquet libparquet.so.${arrow_number} HINTS ${arrow_headers}/.. ${arrow_headers}/../lib NO_CACHE)
    # 15 and 16 crash on some damaged files, 17 takes texts of JSON for bytes.
    if(arrow_library AND parquet_library AND arrow_major GREATER_EQUAL 18)
      set(MIRRORTRAIN_WITH_PARQUET ON)
      add_library(mirrortrain_arrow INTERFACE)
      target_include_directories(mirrortrain_arrow SYSTEM INTERFACE ${arrow_headers})
      target_link_libraries(mirrortrain_arrow INTERFACE ${parquet_library} ${arrow_library})
      get_filename_component(arrow_folder ${arrow_library} DIRECTORY)
      if(NOT arrow_folder MATCHES "^/(usr/)?lib")
        set(MIRRORTRAIN_ARROW_LIBRARIES ${arrow_folder})
      endif()
      message(STATUS "Arrow ${arrow_major}.${arrow_minor} (${arrow_library})")
    endif()
  endif()
endif()
if(NOT MIRRORTRAIN_WITH_PARQUET)
  message(STATUS "No Arrow C++ library, 18 or newer (libarrow-dev and libparquet-dev, or pip's pyarrow): Parquet is refused")
endif()
