# Fails, and takes the file away, unless PLUGIN exports tsrPluginQuery and nothing else. Names that begin with _ are the
# tool chain's.
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${PLUGIN} OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
set(found "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "[ @].*" "" name "${line}")
  if(NOT name MATCHES "^_")
    list(APPEND found ${name})
  endif()
endforeach()
if(failed OR NOT "${found}" STREQUAL "tsrPluginQuery")
  file(REMOVE ${PLUGIN})
  list(JOIN found ", " found)
  message(FATAL_ERROR "${PLUGIN} exports '${found}'; a plugin exports tsrPluginQuery and nothing else. "
                      "Write TSR_PLUGIN(...) in one source.")
endif()
