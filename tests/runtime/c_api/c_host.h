/* A host in C, called by a test in C++. */
#ifndef BERTH_TESTS_RUNTIME_C_API_C_HOST_H_
#define BERTH_TESTS_RUNTIME_C_API_C_HOST_H_

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or the line of the check that failed. */
int c_host_run(const char* bundle_path);

#ifdef __cplusplus
}
#endif

#endif
