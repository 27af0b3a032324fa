# SPDX-License-Identifier: Apache-2.0
# Portable builds with the C compiler of the PyPI package ziglang: one machine builds for all.
#   -DGPU_SIM_TARGET=x86_64-linux-gnu.2.17     the library: no symbol newer than glibc 2.17
#   -DGPU_SIM_TARGET=x86_64-linux-musl         the node program: static
#   -DGPU_SIM_ZIG=/path/to/zig                 the compiler
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GPU_SIM_TARGET GPU_SIM_ZIG)
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${GPU_SIM_TARGET}")
set(CMAKE_CROSSCOMPILING TRUE)

# CMake wants one program for each tool, without arguments.
set(wrappers "${CMAKE_BINARY_DIR}/zig-wrappers")
foreach(tool cc ar ranlib)
  set(arguments "")
  if(tool STREQUAL "cc")
    set(arguments " -target ${GPU_SIM_TARGET}")
  endif()
  set(text "#!/bin/sh\nexec '${GPU_SIM_ZIG}' ${tool}${arguments} \"$@\"\n")
  set(present "")
  if(EXISTS "${wrappers}/${tool}")
    file(READ "${wrappers}/${tool}" present)
  endif()
  if(NOT text STREQUAL present)
    file(WRITE "${wrappers}/${tool}" "${text}")
    file(CHMOD "${wrappers}/${tool}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
         WORLD_READ WORLD_EXECUTE)
  endif()
endforeach()
set(CMAKE_C_COMPILER "${wrappers}/cc")
set(CMAKE_AR "${wrappers}/ar" CACHE FILEPATH "ar")
set(CMAKE_RANLIB "${wrappers}/ranlib" CACHE FILEPATH "ranlib")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
