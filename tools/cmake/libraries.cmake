# Where programs find libraries and modules: as installed already when they are built. Where CMake changes that at the installation, it leaves
# an empty folder in what it builds, which the loader takes for the current one.
if(BUILD_SHARED_LIBS)  # which are not installed
  set(CMAKE_BUILD_RPATH "$ORIGIN" ${CMAKE_BINARY_DIR})
else()
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
  set(CMAKE_INSTALL_RPATH ${CMAKE_BINARY_DIR})  # of tests and benchmarks
endif()

# One library per folder of src/, linked against folders of lower layers only.

# mirrortrain_library(data SOURCES a.cpp LOOPS b.cpp LINKS base config ZLIB::ZLIB)
# Names without `::` are folders of src/. LOOPS: the files with what is done for every number, pixel or character, which are optimized, as the
# target mirrortrain_data_loops. The others, whose work is done once for a run, a file or a batch, are compiled quickly: to optimize them
# took half of a build.
function(mirrortrain_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LOOPS;LINKS;PRIVATE_LINKS" ${ARGN})
  list(TRANSFORM ARG_LINKS PREPEND mirrortrain_ REGEX "^[^:]+$")
  list(TRANSFORM ARG_PRIVATE_LINKS PREPEND mirrortrain_ REGEX "^[^:]+$")
  add_library(mirrortrain_${name} ${ARG_SOURCES})
  target_include_directories(mirrortrain_${name} PUBLIC ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../src)
  target_link_libraries(mirrortrain_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  mirrortrain_compile_quickly(mirrortrain_${name})
  mirrortrain_join(mirrortrain_${name} ${ARG_SOURCES})
  if(ARG_LOOPS)
    add_library(mirrortrain_${name}_loops OBJECT ${ARG_LOOPS})
    target_include_directories(mirrortrain_${name}_loops PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../src)
    target_link_libraries(mirrortrain_${name}_loops PRIVATE ${ARG_LINKS} ${ARG_PRIVATE_LINKS})
    mirrortrain_join(mirrortrain_${name}_loops ${ARG_LOOPS})
    if(BUILD_SHARED_LIBS)
      set_target_properties(mirrortrain_${name}_loops PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    target_sources(mirrortrain_${name} PRIVATE $<TARGET_OBJECTS:mirrortrain_${name}_loops>)
  endif()
endfunction()

# The target's files are joined into as few objects as CMAKE_UNITY_BUILD_BATCH_SIZE allows, of one size. The more are joined, the less is
# compiled twice: what files read, and the functions of templates that they share, which take most of the time.
function(mirrortrain_join target)
  if(CMAKE_UNITY_BUILD_BATCH_SIZE GREATER 0)
    list(LENGTH ARGN files)
    math(EXPR objects "(${files} + ${CMAKE_UNITY_BUILD_BATCH_SIZE} - 1) / ${CMAKE_UNITY_BUILD_BATCH_SIZE}")
    math(EXPR size "(${files} + ${objects} - 1) / ${objects}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

# For what is not done for every number: compiling it takes longer than it runs.
function(mirrortrain_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Og>)
endfunction()

# For tests of what others compute.
function(mirrortrain_leave_unoptimized target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
endfunction()

# For tests whose references compute as much as the kernels.
function(mirrortrain_optimize_references target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Precompiled headers: what most files of a library read, and what they share with files of other targets that are compiled
# with the same options, is read once. No file relies on it: each includes what it uses, as builds without them show.
set(MIRRORTRAIN_COMMON_HEADERS <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <map>
  <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <unordered_map> <utility>
  <variant> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
# mirrortrain_headers(train HEADERS a.h) or mirrortrain_headers(cli OF train), which has the same options and defines the same.
function(mirrortrain_headers name)
  cmake_parse_arguments(ARG "" "OF" "HEADERS" ${ARGN})
  if(NOT ARG_OF)
    target_precompile_headers(mirrortrain_${name} PRIVATE ${ARG_HEADERS})
  elseif(NOT BUILD_SHARED_LIBS)  # of which each defines a name of its own
    target_precompile_headers(mirrortrain_${name} REUSE_FROM mirrortrain_${ARG_OF})
  endif()
endfunction()

# What every target of tests is compiled with. Names without `::` are folders of src/. OPTIMIZED: as the libraries are.
function(mirrortrain_compile_tests target)
  cmake_parse_arguments(ARG "OPTIMIZED" "" "" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE MIRRORTRAIN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set(links ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_OPTIMIZED)
    mirrortrain_compile_quickly(${target})
    if(NOT BUILD_SHARED_LIBS)
      target_precompile_headers(${target} REUSE_FROM mirrortrain_base)
    endif()
  elseif(links MATCHES "(^|;)(train|bench|tune)(;|$)")
    mirrortrain_compile_quickly(${target})
    if(NOT BUILD_SHARED_LIBS)  # which are compiled otherwise than programs
      target_precompile_headers(${target} REUSE_FROM mirrortrain_train)
    endif()
  elseif(links MATCHES "(^|;)kernels")
    mirrortrain_optimize_references(${target})
    target_precompile_headers(${target} REUSE_FROM mirrortrain_kernel_test_headers)
  else()
    mirrortrain_leave_unoptimized(${target})
    target_precompile_headers(${target} REUSE_FROM mirrortrain_test_headers)
  endif()
  list(TRANSFORM links PREPEND mirrortrain_ REGEX "^[^:]+$")
  target_link_libraries(${target} PRIVATE doctest::doctest fmt::fmt nlohmann_json::nlohmann_json ${links})
endfunction()

# mirrortrain_shared_tests(op_tables SOURCES a_test.cpp LINKS kernels): files that several test programs run, on different devices, compiled
# once. Each has $<TARGET_OBJECTS:mirrortrain_op_tables> among its sources.
function(mirrortrain_shared_tests name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(mirrortrain_${name} OBJECT ${ARG_SOURCES})
  mirrortrain_compile_tests(mirrortrain_${name} ${ARG_LINKS})
endfunction()

# mirrortrain_test(config SOURCES a_test.cpp LINKS config) makes the program test_config and its ctest entry `config`.
# MAIN is the file with main() where it is not the tests' common one, LAUNCHER the command that starts it where it is not started
# directly. JOINED: no two files give helpers the same name, or each has a namespace of its own, so that several compile as one; others need
# SKIP_UNITY_BUILD_INCLUSION.
# OPTIMIZED: of functions that files of the test share with a library, such as members of std::string, a program takes the test's: where the
# library has much to do, they are compiled as it is.
# SECONDS: about how long its longest entry takes, where that is long; ctest starts such tests first. APART: files whose test cases wait
# more than they compute, which get an entry of their own, `name_apart`. PARTS_AT, APART_PARTS_AT: the numbers of test cases at which a
# further entry begins, `name_from_11`, so that what takes long runs side by side.
function(mirrortrain_test name)
  cmake_parse_arguments(ARG "JOINED;OPTIMIZED" "MAIN;SECONDS" "SOURCES;LINKS;LAUNCHER;APART;PARTS_AT;APART_PARTS_AT" ${ARGN})
  if(NOT ARG_MAIN)
    set(ARG_MAIN $<TARGET_OBJECTS:mirrortrain_test_main>)
  endif()
  add_executable(test_${name} ${ARG_SOURCES} ${ARG_APART} ${ARG_MAIN})
  set(optimized)
  if(ARG_OPTIMIZED)
    set(optimized OPTIMIZED)
  endif()
  mirrortrain_compile_tests(test_${name} ${optimized} ${ARG_LINKS})
  if(ARG_JOINED AND CMAKE_UNITY_BUILD)
    set_target_properties(test_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  set(command ${ARG_LAUNCHER} $<TARGET_FILE:test_${name}>)
  if(ARG_APART)
    list(TRANSFORM ARG_APART PREPEND "*" OUTPUT_VARIABLE apart)
    list(JOIN apart "," apart)
    mirrortrain_test_entries(${name}_apart SECONDS ${ARG_SECONDS} COMMAND ${command} --source-file=${apart} PARTS_AT ${ARG_APART_PARTS_AT})
    list(APPEND command --source-file-exclude=${apart})
  endif()
  mirrortrain_test_entries(${name} SECONDS ${ARG_SECONDS} COMMAND ${command} PARTS_AT ${ARG_PARTS_AT})
endfunction()

# The entries of ctest for a command of doctest's: one, and a further one for each of PARTS_AT.
function(mirrortrain_test_entries name)
  cmake_parse_arguments(ARG "" "SECONDS" "COMMAND;PARTS_AT" ${ARGN})
  set(entry ${name})
  set(first 1)
  foreach(next ${ARG_PARTS_AT})
    math(EXPR last "${next} - 1")
    add_test(NAME ${entry} COMMAND ${ARG_COMMAND} --first=${first} --last=${last})
    list(APPEND entries ${entry})
    set(entry ${name}_from_${next})
    set(first ${next})
  endforeach()
  add_test(NAME ${entry} COMMAND ${ARG_COMMAND} --first=${first})
  list(APPEND entries ${entry})
  if(ARG_SECONDS)
    set_tests_properties(${entries} PROPERTIES COST ${ARG_SECONDS})
  endif()
endfunction()

# mirrortrain_test for a test that needs a GPU: labelled `cuda`, and reported as skipped where there is none. All are one program,
# test_gpu, since each would hold every kernel; ctest runs the test cases of one folder at a time, FROM, in a process of their own.
function(mirrortrain_cuda_test name)
  cmake_parse_arguments(ARG "" "FROM" "SOURCES;LINKS" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/$]")
  foreach(source ${ARG_SOURCES})
    if(source MATCHES "^[$]<")
      continue()
    endif()
    get_filename_component(path ${source} ABSOLUTE)
    if(path MATCHES "_test\\.cpp$" AND NOT path MATCHES "/tests/${ARG_FROM}/[^/]+$")
      message(FATAL_ERROR "${path} is not in tests/${ARG_FROM}: no test would run it on a GPU")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY MIRRORTRAIN_GPU_TEST_SOURCES ${ARG_SOURCES})
  set_property(GLOBAL APPEND PROPERTY MIRRORTRAIN_GPU_TEST_LINKS ${ARG_LINKS})
  add_test(NAME ${name} COMMAND test_gpu --source-file=*tests/${ARG_FROM}/*)
  set_tests_properties(${name} PROPERTIES LABELS cuda SKIP_RETURN_CODE 77)
endfunction()

# Makes test_gpu, once every test that needs a GPU is known.
function(mirrortrain_gpu_tests)
  get_property(sources GLOBAL PROPERTY MIRRORTRAIN_GPU_TEST_SOURCES)
  if(NOT sources)
    return()
  endif()
  get_property(links GLOBAL PROPERTY MIRRORTRAIN_GPU_TEST_LINKS)
  add_executable(test_gpu ${sources} ${CMAKE_SOURCE_DIR}/tests/cuda_main.cpp)
  mirrortrain_compile_tests(test_gpu device ${links})
endfunction()

# Compiles a folder's loops for this machine's vectors. None of them reads errno or floating-point exceptions.
function(mirrortrain_vectorize name)
  target_compile_options(mirrortrain_${name} PRIVATE -fno-math-errno -fno-trapping-math -ffp-contract=fast)
  if(NOT MIRRORTRAIN_SANITIZE)  # sanitizers' checks at -O3 take hours to compile
    target_compile_options(mirrortrain_${name} PRIVATE -O3)
  endif()
  if(MIRRORTRAIN_ARCH)
    target_compile_options(mirrortrain_${name} PRIVATE -march=${MIRRORTRAIN_ARCH})
    if(MIRRORTRAIN_ARCH STREQUAL "x86-64-v4")
      target_compile_options(mirrortrain_${name} PRIVATE -mprefer-vector-width=512)
    endif()
  endif()
endfunction()
