# MIRRORTRAIN_CPU_LEVEL: the highest x86-64 level (psABI) of the machine that configures, empty elsewhere. The compiler asks
# the processor itself, so this works where there is no /proc.
set(MIRRORTRAIN_CPU_LEVEL "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null
    OUTPUT_VARIABLE macros ERROR_QUIET)
  set(MIRRORTRAIN_CPU_LEVEL "x86-64-v2")
  if(macros MATCHES "__AVX2__" AND macros MATCHES "__FMA__" AND macros MATCHES "__BMI2__")
    set(MIRRORTRAIN_CPU_LEVEL "x86-64-v3")
    if(macros MATCHES "__AVX512F__" AND macros MATCHES "__AVX512BW__" AND macros MATCHES "__AVX512CD__" AND
       macros MATCHES "__AVX512DQ__" AND macros MATCHES "__AVX512VL__")
      set(MIRRORTRAIN_CPU_LEVEL "x86-64-v4")
    endif()
  endif()
endif()
