# tessera_add_plugin(TARGET MANIFEST plugin.json SOURCES a.cpp ... [LIBS x ...]): a Tessera plugin.
#
# From plugin.json (its keys: docs/plugins.md) come the ELF note the runtime reads before it loads the file, the file's
# name, and what TSR_PLUGIN(...) puts into the query's answer. The object exports tsrPluginQuery and nothing else, which
# is checked after the link. It is built into the build tree's lib/tessera and installed into LIBDIR/tessera.
#
# Part of Tessera's own build and of find_package(tessera). Needs flatc (flatbuffers-compiler).
include_guard(GLOBAL)
include(GNUInstallDirs)
find_program(FLATC flatc REQUIRED)

# The folder of this file and of what it uses, for functions that are called elsewhere: the source tree or an installed -dev package.
set(TESSERA_PLUGIN_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "")
if(NOT TESSERA_PLUGIN_HEADER_DIR) # the installed package sets these three
  set(TESSERA_PLUGIN_HEADER_DIR ${CMAKE_CURRENT_LIST_DIR}/../sdk/include CACHE INTERNAL "")
  set(TESSERA_PLUGIN_SCHEMA_FILE ${CMAKE_CURRENT_LIST_DIR}/../sdk/schema/plugin.fbs CACHE INTERNAL "")
  set(TESSERA_PLUGIN_OUTPUT_DIR ${CMAKE_BINARY_DIR}/lib/tessera CACHE INTERNAL "")
endif()

# tessera_json_string_list(OUT JSON KEY): the array as a CMake list; empty when the key is not there.
function(tessera_json_string_list out json key)
  set(result "")
  string(JSON type ERROR_VARIABLE absent TYPE "${json}" ${key})
  if(NOT absent)
    if(NOT type STREQUAL "ARRAY")
      message(FATAL_ERROR "plugin.json: \"${key}\" is of type ${type}, expected an array of strings")
    endif()
    string(JSON length LENGTH "${json}" ${key})
    if(length GREATER 0)
      math(EXPR last "${length} - 1")
      foreach(i RANGE ${last})
        string(JSON item GET "${json}" ${key} ${i})
        list(APPEND result "${item}")
      endforeach()
    endif()
  endif()
  set(${out} "${result}" PARENT_SCOPE)
endfunction()

# tessera_json_default(VARIABLE KEY VALUE): sets the key if plugin.json does not have it.
function(tessera_json_default variable key value)
  string(JSON ignored ERROR_VARIABLE absent GET "${${variable}}" ${key})
  if(absent)
    string(JSON result SET "${${variable}}" ${key} "${value}")
    set(${variable} "${result}" PARENT_SCOPE)
  endif()
endfunction()

# tessera_check_text(MANIFEST KEY VALUE): refuses here what the runtime would refuse in the note (TSRP-022).
function(tessera_check_text manifest key value)
  string(ASCII 1 first)
  string(ASCII 31 last)
  string(ASCII 127 delete)
  string(LENGTH "${value}" length)
  if(value MATCHES "[${first}-${last}${delete}]")
    message(FATAL_ERROR "${manifest}: \"${key}\" has a line end, a tab or another control character; expected one line of text")
  elseif(length GREATER 512)
    message(FATAL_ERROR "${manifest}: \"${key}\" has ${length} bytes; expected at most 512")
  endif()
endfunction()

function(tessera_add_plugin target)
  # UNCHECKED, for plugins that tests want broken: no check of the exports, no version script, no installation.
  cmake_parse_arguments(P "UNCHECKED" "MANIFEST;OUTPUT_DIR" "SOURCES;LIBS" ${ARGN})
  if(P_UNPARSED_ARGUMENTS OR NOT P_MANIFEST OR NOT P_SOURCES)
    message(FATAL_ERROR "usage: tessera_add_plugin(TARGET MANIFEST plugin.json SOURCES a.cpp ... [LIBS x ...])")
  endif()
  get_filename_component(manifest ${P_MANIFEST} ABSOLUTE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifest})
  file(READ ${manifest} json)
  if(PROJECT_NAME STREQUAL "tessera") # of Tessera's own build alone (TesseraKnownBackends.cmake), and no part of the note
    string(JSON own ERROR_VARIABLE absent REMOVE "${json}" catalogue)
    if(NOT absent)
      set(json "${own}")
    endif()
  endif()

  foreach(key IN ITEMS name version description)
    string(JSON ${key} ERROR_VARIABLE wrong GET "${json}" ${key})
    if(wrong)
      message(FATAL_ERROR "${manifest}: \"${key}\": ${wrong}")
    endif()
  endforeach()
  string(LENGTH "${name}" length)
  if(NOT name MATCHES "^[a-z0-9_-]+$" OR length GREATER 64)
    message(FATAL_ERROR "${manifest}: \"name\" is '${name}'; expected 1 to 64 of a-z, 0-9, - and _")
  elseif(name MATCHES "^(mapper|collective|numerics|codegen)-")
    message(FATAL_ERROR "${manifest}: \"name\" is '${name}': ${CMAKE_MATCH_1}- in front of a file's name tells its kind; "
                        "give the plugin another name")
  endif()
  tessera_json_string_list(kinds "${json}" kinds)
  string(JSON needs_minor ERROR_VARIABLE absent GET "${json}" needs_minor)
  if(absent)
    set(needs_minor 0)
    if("codegen" IN_LIST kinds) # whose table came with that minor
      set(needs_minor 1)
    endif()
  endif()
  tessera_json_string_list(required "${json}" features_required)
  tessera_json_string_list(optional "${json}" features_optional)
  list(JOIN required "," required)
  list(JOIN optional "," optional)
  foreach(text IN ITEMS version:version description:description required:features_required optional:features_optional)
    string(REGEX MATCH "^(.*):(.*)$" ignored ${text})
    tessera_check_text(${manifest} ${CMAKE_MATCH_2} "${${CMAKE_MATCH_1}}")
  endforeach()
  set(bits 0)
  set(prefix "")
  set(compiler_abi "")
  foreach(kind IN LISTS kinds)
    if(kind STREQUAL "backend")
      math(EXPR bits "${bits} | 1")
    elseif(kind STREQUAL "mapper")
      math(EXPR bits "${bits} | 2")
    elseif(kind STREQUAL "collective")
      math(EXPR bits "${bits} | 4")
    elseif(kind STREQUAL "numerics")
      math(EXPR bits "${bits} | 8")
    elseif(kind STREQUAL "codegen")
      math(EXPR bits "${bits} | 16")
      get_property(compiler_abi GLOBAL PROPERTY TESSERA_COMPILER_ABI)
    else()
      message(FATAL_ERROR "${manifest}: \"kinds\" names '${kind}'; expected backend, mapper, collective, numerics or codegen")
    endif()
    if(NOT kind STREQUAL "backend" AND NOT "backend" IN_LIST kinds)
      set(prefix "${kind}-")
    endif()
  endforeach()
  if(bits EQUAL 0)
    message(FATAL_ERROR "${manifest}: \"kinds\" names none of backend, mapper, collective, numerics, codegen")
  endif()

  # What the build knows and plugin.json need not say.
  string(REGEX MATCH "^(x86_64|aarch64)" arch "${CMAKE_SYSTEM_PROCESSOR}")
  set(sanitizer "")
  if("${TESSERA_SANITIZE}" MATCHES "address")
    set(sanitizer address)
  elseif("${TESSERA_SANITIZE}" MATCHES "thread")
    set(sanitizer thread)
  endif()
  file(STRINGS ${TESSERA_PLUGIN_HEADER_DIR}/tessera/plugin.h abi REGEX "^#define TSR_PLUGIN_ABI_(MAJOR|MINOR)")
  foreach(line IN LISTS abi)
    if(line MATCHES "ABI_(MAJOR|MINOR) ([0-9]+)")
      set(abi_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    endif()
  endforeach()
  tessera_json_default(json abi_major ${abi_MAJOR})
  tessera_json_default(json built_minor ${abi_MINOR})
  tessera_json_default(json needs_minor ${needs_minor})
  tessera_json_default(json triplet "\"${arch}-linux-gnu\"")
  tessera_json_default(json sanitizer "\"${sanitizer}\"")
  tessera_json_default(json compiler_abi "\"${compiler_abi}\"")
  string(JSON compiler_abi GET "${json}" compiler_abi)

  set(work ${CMAKE_CURRENT_BINARY_DIR}/${target}-manifest)
  file(MAKE_DIRECTORY ${work})
  file(CONFIGURE OUTPUT ${work}/manifest.json CONTENT [[@json@]] @ONLY) # its content is not configured: a description may contain @
  file(CONFIGURE OUTPUT ${work}/note.c @ONLY CONTENT [[
/* The manifest as an ELF note: sizes of name and payload, type 1, name, payload. */
__asm__(".pushsection .note.tessera, \"a\", %note\n"
        ".p2align 2\n"
        ".long 8, 2f - 1f, 1\n"
        ".asciz \"Tessera\"\n"
        "1: .incbin \"@work@/manifest.bin\"\n"
        "2: .p2align 2\n"
        ".popsection\n");
]])
  foreach(value IN ITEMS name version description required optional) # as C string literals
    string(REPLACE "\\" "\\\\" ${value} "${${value}}")
    string(REPLACE "\"" "\\\"" ${value} "${${value}}")
  endforeach()
  file(CONFIGURE OUTPUT ${work}/tessera_manifest.h @ONLY CONTENT [[
/* What TSR_PLUGIN(...) answers with; from plugin.json. */
#define TSR_MANIFEST_NAME "@name@"
#define TSR_MANIFEST_VERSION "@version@"
#define TSR_MANIFEST_DESCRIPTION "@description@"
#define TSR_MANIFEST_KINDS @bits@u
#define TSR_MANIFEST_NEEDS_MINOR @needs_minor@u
#define TSR_MANIFEST_FEATURES_REQUIRED "@required@"
#define TSR_MANIFEST_FEATURES_OPTIONAL "@optional@"
#define TSR_MANIFEST_COMPILER_ABI "@compiler_abi@"
]])
  add_custom_command(
    OUTPUT ${work}/manifest.bin DEPENDS ${work}/manifest.json ${TESSERA_PLUGIN_SCHEMA_FILE} VERBATIM
    COMMAND ${FLATC} --binary --size-prefixed -o ${work} ${TESSERA_PLUGIN_SCHEMA_FILE} ${work}/manifest.json)
  set_source_files_properties(${work}/note.c PROPERTIES LANGUAGE C OBJECT_DEPENDS ${work}/manifest.bin
                              SKIP_UNITY_BUILD_INCLUSION ON) # which would lose the dependence

  add_library(${target} MODULE ${P_SOURCES} ${work}/note.c)
  target_link_libraries(${target} PRIVATE ${P_LIBS})
  target_include_directories(${target} PRIVATE ${TESSERA_PLUGIN_HEADER_DIR})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} PRIVATE ${work})
  set(map ${TESSERA_PLUGIN_CMAKE_DIR}/plugin.map)
  if(NOT P_OUTPUT_DIR)
    set(P_OUTPUT_DIR ${TESSERA_PLUGIN_OUTPUT_DIR})
  endif()
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME libtessera-${prefix}${name} SUFFIX .so LINK_DEPENDS ${map}
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${P_OUTPUT_DIR})
  if(P_UNCHECKED)
    return()
  endif()
  target_link_options(${target} PRIVATE -Wl,--version-script=${map} -Wl,--exclude-libs,ALL -Wl,-z,nodelete)
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DPLUGIN=$<TARGET_FILE:${target}>
            -P ${TESSERA_PLUGIN_CMAKE_DIR}/CheckPluginExports.cmake)
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
endfunction()
