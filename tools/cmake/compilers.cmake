# How many compilers run at once, and what each may take: an object of joined files takes up to 2 GiB.
cmake_host_system_information(RESULT MIRRORTRAIN_CORES QUERY NUMBER_OF_LOGICAL_CORES)
cmake_host_system_information(RESULT MIRRORTRAIN_MEMORY QUERY TOTAL_PHYSICAL_MEMORY)  # MiB
math(EXPR MIRRORTRAIN_COMPILERS "${MIRRORTRAIN_MEMORY} / 1900")
if(MIRRORTRAIN_COMPILERS LESS 1)
  set(MIRRORTRAIN_COMPILERS 1)
endif()
set_property(GLOBAL PROPERTY JOB_POOLS compile=${MIRRORTRAIN_COMPILERS})
set(CMAKE_JOB_POOL_COMPILE compile)

# GCC spends a tenth of its time on looking for garbage, unless it is told that there is memory.
math(EXPR MIRRORTRAIN_MEMORY_EACH "${MIRRORTRAIN_MEMORY} / (${MIRRORTRAIN_CORES} + 2)")  # ninja's jobs
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND MIRRORTRAIN_MEMORY_EACH GREATER 3500)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=2000000>")
endif()
