# cmake -DOUTPUT=file.h -DVERSION=1.2.3 -DFLAGS=... -P BuildIdentity.cmake HEADER...
# Writes the text that tells whether two libraries were compiled from the same headers in the same
# way (runtime/bundle/lowering_handle.h).
set(headers "")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE 3 ${last})
  if(CMAKE_ARGV${i} MATCHES "\\.(h|inc)$")
    list(APPEND headers "${CMAKE_ARGV${i}}")
  endif()
endforeach()
set(hashes "${FLAGS}")
foreach(header ${headers})
  file(SHA256 "${header}" hash)
  string(APPEND hashes "${hash}")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING "${hash}" 0 16 hash)
file(WRITE "${OUTPUT}" "#define BERTH_BUILD_IDENTITY \"${VERSION}-${hash}\"\n")
