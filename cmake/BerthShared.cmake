# Shared libraries that show nothing but their C API. Of what they use, Abseil stays a shared library:
# its archives are not compiled for use in one, and the distribution's names (absl::debian3) are
# those of no other Abseil.

# berth_shared(target OUTPUT name EXPORTS file.map OBJECTS target... DEPS library...): all objects of
# `OBJECTS`, and what they need of our static libraries `DEPS` and, as shared libraries, of others.
function(berth_shared target)
  cmake_parse_arguments(ARG "" "OUTPUT;EXPORTS" "OBJECTS;DEPS" ${ARGN})
  set(objects ${ARG_OBJECTS})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${target} SHARED ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${ARG_OUTPUT}
    VERSION ${PROJECT_VERSION} SOVERSION ${BERTH_SOVERSION} LINKER_LANGUAGE CXX
    LINK_DEPENDS "${ARG_EXPORTS}")
  target_link_libraries(${target} PRIVATE ${ARG_DEPS})
  target_link_options(${target} PRIVATE "LINKER:--version-script=${ARG_EXPORTS}"
    LINKER:--as-needed LINKER:--gc-sections LINKER:-z,nodelete)
  if(NOT BERTH_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
endfunction()
