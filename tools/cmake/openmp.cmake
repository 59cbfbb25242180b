# src/device/cpu/openmp.cpp takes the place of the OpenMP runtime that oneDNN calls (MIRRORTRAIN_OWN_OPENMP), if it has
# all that this oneDNN calls: Debian 12's 2.6 and Debian 13's 3.7 do.
set(own_functions GOMP_barrier GOMP_parallel omp_get_max_threads omp_get_num_threads omp_get_thread_num omp_in_parallel omp_set_num_threads)
execute_process(COMMAND ${CMAKE_NM} -D --undefined-only ${ONEDNN_LIBRARY} OUTPUT_VARIABLE called ERROR_VARIABLE no_names)
string(REGEX MATCHALL "(GOMP|omp)_[a-z_]+" called "${called}")
list(REMOVE_ITEM called ${own_functions})
if(called)
  set(MIRRORTRAIN_OWN_OPENMP OFF)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  message(STATUS "oneDNN's loops run on OpenMP's threads, as it calls functions that cpu/openmp.cpp lacks: ${called}")
else()
  set(MIRRORTRAIN_OWN_OPENMP ON)
endif()
