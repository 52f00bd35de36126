# Shared libraries that show nothing but their C API. Of what they use, Abseil stays a shared library:
# its archives are not compiled for use in one, and the distribution's names (absl::debian3) are
# those of no other Abseil.

# berth_shared(target OUTPUT name EXPORTS file.map OBJECTS target... PARTS berth_x... SHARED
# library...): all objects of `OBJECTS`, and what they need of our static libraries `PARTS`, in one
# group, so that their order does not matter.
function(berth_shared target)
  cmake_parse_arguments(ARG "" "OUTPUT;EXPORTS" "OBJECTS;PARTS;SHARED" ${ARGN})
  set(objects ${ARG_OBJECTS})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${target} SHARED ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${ARG_OUTPUT}
    VERSION ${PROJECT_VERSION} SOVERSION ${BERTH_SOVERSION} LINKER_LANGUAGE CXX
    LINK_DEPENDS "${ARG_EXPORTS}")
  set(parts "")
  foreach(part ${ARG_PARTS})
    list(APPEND parts $<TARGET_FILE:${part}>)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:${part}>)
  endforeach()
  add_dependencies(${target} ${ARG_PARTS})
  target_link_libraries(${target} PRIVATE -Wl,--start-group ${parts}
    -Wl,--end-group ${ARG_SHARED})
  target_link_options(${target} PRIVATE "LINKER:--version-script=${ARG_EXPORTS}"
    LINKER:--as-needed LINKER:--gc-sections LINKER:-z,nodelete)
  if(BERTH_SANITIZE)
    target_link_options(${target} PRIVATE -fsanitize=${BERTH_SANITIZE})
  else()
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
endfunction()
