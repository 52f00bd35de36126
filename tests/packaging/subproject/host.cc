#include <berth/berth.h>
#include <berth/berth_planner.h>

int main() { return berth_abi_version() >= BERTH_ABI_VERSION ? 0 : 1; }
