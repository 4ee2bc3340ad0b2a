# What `cmake --install` lays down: libraries, tools, the users' headers, samples, documentation, and what lets others find them
# (find_package(tessera) and pkg-config). The whole prefix may be moved.
include(CMakePackageConfigHelpers)

set(installed tessera tsr-conformance)
if(TARGET tsr)
  list(APPEND installed tsr)
endif()
if(TESSERA_BUILD_COMPILER)
  list(APPEND installed tessera-compiler tsr-opt)
endif()
# The libraries are in one folder. MLIR's, which Debian installs outside the linker's path, is found where it was linked.
foreach(target IN ITEMS tessera tessera-compiler)
  if(TARGET ${target} AND TESSERA_RELOCATABLE)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
endforeach()
set_target_properties(${installed} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)

list(REMOVE_ITEM installed tessera)
install(TARGETS tessera EXPORT tessera INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${installed})
install(TARGETS tessera-probe DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
install(DIRECTORY sdk/include/tessera TYPE INCLUDE)
install(DIRECTORY tests/fakes/tessera TYPE INCLUDE)
install(DIRECTORY samples DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera
        PATTERN __pycache__ EXCLUDE PATTERN samples/CMakeLists.txt EXCLUDE PATTERN check.py EXCLUDE PATTERN loop.c EXCLUDE
        PATTERN test.sh EXCLUDE) # of this tree alone
install(FILES LICENSE README.md TYPE DOC)
install(DIRECTORY docs TYPE DOC)
foreach(page IN ITEMS core/tessera.7 core/plugin/tessera-probe.8 tools/tsr-opt/tsr-opt.1)
  if(TESSERA_BUILD_COMPILER OR NOT page MATCHES "tsr-opt")
    string(REGEX MATCH "[0-9]$" section ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endif()
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(EXPORT tessera NAMESPACE tessera:: FILE tesseraTargets.cmake DESTINATION ${package})
set(TESSERA_SCHEMA_INSTALL_DIR ${CMAKE_INSTALL_DATADIR}/tessera/schema)
install(FILES sdk/schema/plugin.fbs sdk/schema/bundle.fbs DESTINATION ${TESSERA_SCHEMA_INSTALL_DIR})
install(FILES cmake/TesseraPlugin.cmake cmake/plugin.map cmake/CheckPluginExports.cmake DESTINATION ${package})
get_property(TESSERA_COMPILER_ABI GLOBAL PROPERTY TESSERA_COMPILER_ABI)
configure_package_config_file(cmake/tesseraConfig.cmake.in tesseraConfig.cmake INSTALL_DESTINATION ${package}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR TESSERA_SCHEMA_INSTALL_DIR)
write_basic_package_version_file(tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion) # before 1.0 minors may break
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake
        DESTINATION ${package})

file(RELATIVE_PATH TESSERA_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" TESSERA_PC_PREFIX ${TESSERA_PC_PREFIX})
configure_file(cmake/tessera.pc.in tessera.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
