# MIRRORTRAIN_CPU_LEVEL: the highest x86-64 level (psABI) of the machine that configures, empty elsewhere.
set(MIRRORTRAIN_CPU_LEVEL "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(MIRRORTRAIN_CPU_LEVEL "x86-64-v2")
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  if(flags MATCHES " avx2 " AND flags MATCHES " fma " AND flags MATCHES " bmi2 ")
    set(MIRRORTRAIN_CPU_LEVEL "x86-64-v3")
    if(flags MATCHES " avx512f " AND flags MATCHES " avx512bw " AND flags MATCHES " avx512cd " AND
       flags MATCHES " avx512dq " AND flags MATCHES " avx512vl")
      set(MIRRORTRAIN_CPU_LEVEL "x86-64-v4")
    endif()
  endif()
endif()
