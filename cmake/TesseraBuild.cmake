# What every target of the tree shares: language level, warnings, visibility, sanitizers, output folders.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_BUILD_RPATH "$ORIGIN/../lib;$ORIGIN")
# What is installed finds itself wherever its prefix is moved; packages for the system's own directories need no such paths.
option(TESSERA_RELOCATABLE "Give what is installed relative paths to its libraries" ON)
if(TESSERA_RELOCATABLE)
  set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # MLIR's implicit TypeIDs disagree between g++ and clang under hidden visibility.
  message(FATAL_ERROR "Tessera builds with clang++-22 only (use a preset: cmake --preset release)")
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -fno-omit-frame-pointer)
if(TESSERA_SANITIZE)
  add_compile_options(-fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${TESSERA_SANITIZE})
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Without the sloppiness ccache would not serve what uses the compiler's precompiled header. Paths below the base are
  # hashed relative to the build folder, so that another clone finds what this one compiled.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_ctime,include_file_mtime ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# The libraries and tools are compiled several sources at a time, in less than half of the time. The
# sources of a target then share one namespace: a name of one source must not appear in another with a different meaning.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "Compile several sources of a target as one; OFF rebuilds less after an edit")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

# Headers are named from the root ("core/objects/Objects.h"); users' ones are <tessera/...>.
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/sdk/include
                    ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/sdk/include)

# Sources of different components (core, mapper, plugins/cpu, ...) are not compiled as one in this target, so that its objects
# show which component needs which; the layering test reads that.
function(tessera_unity_by_component target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${path})
    string(REGEX MATCH "^(plugins/[^/]+|[^/]+)" component ${path})
    string(REPLACE "/" "-" component ${component})
    if(NOT DEFINED sources_${component})
      set(sources_${component} 0)
    endif()
    math(EXPR batch "${sources_${component}} / ${CMAKE_UNITY_BUILD_BATCH_SIZE}")
    math(EXPR sources_${component} "${sources_${component}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${component}-${batch})
  endforeach()
endfunction()

# Compiles the headers, and the templates that they use, once for all sources of the target.
function(tessera_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
endfunction()

# Compiles the headers of the standard library that most of Tessera's sources include, and ARGN, once for all sources of the
# target: they are half of what such a source costs.
function(tessera_precompile_standard target)
  tessera_precompile(${target} <algorithm> <array> <atomic> <condition_variable> <cstdint> <cstring> <functional>
                     <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread>
                     <unordered_map> <utility> <variant> <vector> ${ARGN})
endfunction()

# tessera_test(NAME SOURCES a.cpp ... LIBS x ... [ARGS ...] [LABELS ...] [HEADER h] [OPTIMIZED] [UNITY] [SERIAL]): a GoogleTest program, registered with
# CTest. GoogleTest's headers, three seconds of a test's compilation, are compiled once for all. The tests' own sources are not
# optimised, which compiles them in a third of the time; the libraries are. OPTIMIZED is for tests that compute for long in
# their own sources or in headers, and for those that use the compiler's precompiled header. HEADER, which all of
# the sources include and which includes GoogleTest's, is compiled once. With UNITY several sources are compiled as one: their own
# names must differ. What SERIAL tests has no threads: it is left out under the thread sanitizer.
function(tessera_test name)
  cmake_parse_arguments(T "OPTIMIZED;UNITY;SERIAL" "HEADER" "SOURCES;LIBS;ARGS;LABELS" ${ARGN})
  if(T_SERIAL AND TESSERA_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(NOT TARGET tessera-test-headers)
    file(CONFIGURE OUTPUT test-headers.cpp CONTENT "int main() {}\n") # written when it is not there yet
    add_executable(tessera-test-headers ${CMAKE_CURRENT_BINARY_DIR}/test-headers.cpp)
    target_compile_options(tessera-test-headers PRIVATE -O0)
    tessera_precompile(tessera-test-headers <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  add_executable(${name} ${T_SOURCES})
  if(NOT T_OPTIMIZED) # precompiled headers are of one level of optimisation
    target_compile_options(${name} PRIVATE -O0)
    if(T_HEADER)
      tessera_precompile(${name} ${T_HEADER})
    else()
      target_precompile_headers(${name} REUSE_FROM tessera-test-headers)
    endif()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD "${T_UNITY}")
  target_link_libraries(${name} PRIVATE ${T_LIBS} gtest gmock gtest_main)
  add_test(NAME ${name} COMMAND ${name} ${T_ARGS})
  if(T_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}")
  endif()
endfunction()

# tessera_fuzzer(NAME SOURCES ... LIBS ...): a libFuzzer program in bin/, built when TESSERA_BUILD_FUZZERS is on.
function(tessera_fuzzer name)
  if(NOT TESSERA_BUILD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(T "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
