# What the engine's build asks of the machine it runs on.

# The cores that this process may run on, which can be fewer than the machine has.
function(usable_cores result)
  find_program(NPROC nproc)
  if(NPROC)
    # nproc would obey what is meant for OpenMP.
    execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=OMP_NUM_THREADS --unset=OMP_THREAD_LIMIT ${NPROC}
      OUTPUT_VARIABLE cores OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  endif()
  if(NOT NPROC OR failed OR NOT cores MATCHES "^[1-9][0-9]*$")
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  endif()
  set(${result} ${cores} PARENT_SCOPE)
endfunction()

# A hash of the source tree that VW_FASTCB_VW_SOURCE names, empty where it names none. A tarball is verified to be the
# release; a tree is whatever the user makes of it, today and tomorrow.
function(local_tree_key result)
  set(key "")
  if(IS_DIRECTORY "$ENV{VW_FASTCB_VW_SOURCE}")
    execute_process(COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/vw_release.py --key
      OUTPUT_VARIABLE key OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE problem RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "${problem}")
    endif()
  endif()
  set(${result} "${key}" PARENT_SCOPE)
endfunction()
