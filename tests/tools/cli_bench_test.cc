// berth bench pool: what it prints for a trace, what it refuses.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/planner/model_builder.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

std::string WriteTrace(const ScratchFolder& folder, const std::string& rows) {
  const std::string path = (folder.path() / "trace.csv").string();
  std::ofstream(path) << "op,id,size_bytes,alignment\n" << rows;
  return path;
}

TEST(CliBench, ReplaysATrace) {
  const ScratchFolder folder;
  const std::string trace = WriteTrace(
      folder, "alloc,1,1000,64\nalloc,2,2000000,4096\nfree,1,,\nalloc,1,64,\nfree,2,,\n");
  const std::string copy = (folder.path() / "copy.csv").string();
  const CliResult result =
      RunBerth({"bench", "pool", trace, "--json", "--repeats", "3", "--save", copy});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = result.Json();
  EXPECT_EQ(json["events"], 5);
  EXPECT_EQ(json["peak_live_bytes"], 1024 + 2000000);
  EXPECT_GE(json["peak_reserved_bytes"], json["peak_live_bytes"]);
  EXPECT_EQ(json["end_reserved_bytes"], 0);
  ASSERT_EQ(json["times"].size(), 2u);
  EXPECT_EQ(json["times"][1]["threads"], 2);
  for (const char* key : {"pool_ns_per_pair", "malloc_ns_per_pair", "pool_best_ns_per_pair"}) {
    EXPECT_GT(json["times"][1][key].get<double>(), 0) << key;
  }
  EXPECT_EQ(RunBerth({"bench", "pool", copy, "--repeats", "1"}).exit_code, 0);
}

TEST(CliBench, SaysWhatIsWrong) {
  const ScratchFolder folder;
  const std::string trace = WriteTrace(folder, "alloc,1,3000000,64\n");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"bench", "pool", (folder.path() / "absent.csv").string()},
           {"bench", "pool", WriteSmallModel(folder.path())},
           {"bench", "pool", trace, "--limit", "1000000"}}) {
    const CliResult result = RunBerth(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_TRUE(result.HasOneLineError()) << result.err;
  }
  EXPECT_EQ(RunBerth({"bench", "pool", trace, "--threads", "0"}).exit_code, 2);
  EXPECT_EQ(RunBerth({"bench"}).exit_code, 2);
}

}  // namespace
}  // namespace berth
