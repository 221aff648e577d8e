# Gives the target vw_engine: VW's released core as static archives with its headers, and VW_ENGINE_DIR, where it lies.
# Built once per machine and kept in the user's cache; version, recipe, compiler, flags and the user's own source tree, if there
# is one, make the key.

include(${CMAKE_CURRENT_LIST_DIR}/Machine.cmake)
set(VW_VERSION 9.11.9)

# VW's wheel for x86-64 is built without fused multiply-add. Where a processor always has it, it is to be left alone as well,
# so that an engine predicts the same wherever it runs.
set(unfused "")
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(unfused " -ffp-contract=off")
endif()

local_tree_key(local_tree)
file(SHA256 "${CMAKE_CURRENT_LIST_DIR}/engine/CMakeLists.txt" recipe)
string(SHA256 recipe "${recipe};${CMAKE_CXX_COMPILER_ID};${CMAKE_CXX_COMPILER_VERSION};\
${CMAKE_C_FLAGS};${CMAKE_CXX_FLAGS}${unfused};${CMAKE_BUILD_TYPE};${local_tree}")
string(SUBSTRING "${recipe}" 0 12 recipe)
if(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(cache "$ENV{XDG_CACHE_HOME}/vw-fastcb")
else()
  file(REAL_PATH "~/.cache/vw-fastcb" cache EXPAND_TILDE)
endif()
set(VW_ENGINE_DIR "${cache}/engine-${VW_VERSION}-${CMAKE_SYSTEM_PROCESSOR}-${recipe}")

function(build_engine)
  set(work "${CMAKE_BINARY_DIR}/engine")
  file(REMOVE_RECURSE "${work}")
  file(MAKE_DIRECTORY "${work}")

  message(STATUS "Fetching the source of vowpalwabbit ${VW_VERSION}")
  execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/vw_release.py ${work}
    OUTPUT_VARIABLE source OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE problem RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${problem}")
  endif()

  usable_cores(cores)
  message(STATUS "Building VW's core in ${VW_ENGINE_DIR}: once per machine, about 10 minutes of one core, ${cores} at work")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/engine -B ${work}/build -G ${CMAKE_GENERATOR}
      -DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM} -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}
      -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
      -DCMAKE_C_FLAGS=${CMAKE_C_FLAGS}${unfused} -DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}${unfused}
      -DCMAKE_TOOLCHAIN_FILE=${CMAKE_TOOLCHAIN_FILE}
      -DVW_SOURCE_DIR=${source} -DCMAKE_INSTALL_PREFIX=${VW_ENGINE_DIR}.part
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${work}/build --target engine --parallel ${cores}
    COMMAND_ERROR_IS_FATAL ANY)
  # Complete under a temporary name first: an interrupted build leaves nothing that looks like an engine.
  file(REMOVE_RECURSE "${VW_ENGINE_DIR}.part")
  execute_process(COMMAND ${CMAKE_COMMAND} -DCMAKE_INSTALL_MESSAGE=NEVER -P ${work}/build/cmake_install.cmake
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(RENAME "${VW_ENGINE_DIR}.part" "${VW_ENGINE_DIR}")
  file(REMOVE_RECURSE "${work}")
endfunction()

# Two installs at a time build one engine. It is renamed into place as a whole, so one that is there needs no lock: an
# install does not wait while another engine is built.
file(MAKE_DIRECTORY "${cache}")
if(NOT EXISTS "${VW_ENGINE_DIR}")
  file(LOCK "${cache}/engine.lock" GUARD FILE)
  if(NOT EXISTS "${VW_ENGINE_DIR}")
    build_engine()
  endif()
  file(LOCK "${cache}/engine.lock" RELEASE)
endif()
message(STATUS "VW's core is ready in ${VW_ENGINE_DIR}")

find_package(Threads REQUIRED)
file(READ "${VW_ENGINE_DIR}/definitions.txt" definitions)
# Dependents before what they depend on.
set(archives vw_core vw_csv_parser vw_json_parser vw_text_parser vw_cache_parser vw_explore vw_config vw_allreduce
  vw_spanning_tree vw_common vw_io spdlog fmt zlibstatic)
add_library(vw_engine INTERFACE)
target_include_directories(vw_engine SYSTEM INTERFACE "${VW_ENGINE_DIR}/include")
target_compile_definitions(vw_engine INTERFACE ${definitions} _FILE_OFFSET_BITS=64)
foreach(archive IN LISTS archives)
  set(file "${VW_ENGINE_DIR}/lib/lib${archive}.a")  # cmake/engine names them so, whatever a system calls its own
  if(EXISTS "${file}")
    target_link_libraries(vw_engine INTERFACE "${file}")
  endif()
endforeach()
target_link_libraries(vw_engine INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
