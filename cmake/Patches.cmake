# VW's files that must know of FastCB, with the changes of patches/*.patch, as files of our build: VW_PATCHED_SOURCES, and
# VW_PYLIBVW_SOURCE, its Python binding. They are compiled with our sources and stand ahead of VW's archive, so that the linker
# takes them instead of the originals. Changed headers lie in VW_PATCHED_DIR/include.

set(VW_PATCHED_DIR "${CMAKE_CURRENT_BINARY_DIR}/vw")
set(VW_PYLIBVW_SOURCE "${VW_PATCHED_DIR}/pylibvw.cc")
file(GLOB patches CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/patches/*.patch")
set(applier "${CMAKE_CURRENT_LIST_DIR}/vw_patches.py")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${patches} "${applier}")

# They include headers that are changed: json_utils.h, parse_dispatch_loop.h.
set(again vowpalwabbit/json_parser/src/parse_example_json.cc vowpalwabbit/core/src/vw.cc)
execute_process(COMMAND ${Python_EXECUTABLE} ${applier} ${VW_ENGINE_DIR} ${VW_PATCHED_DIR} ${patches} --again ${again}
  OUTPUT_VARIABLE VW_PATCHED_SOURCES OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE problem RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${problem}")
endif()
list(REMOVE_ITEM VW_PATCHED_SOURCES "${VW_PYLIBVW_SOURCE}")
