// The views of `berth inspect` on the command line: together, as JSON, and called wrongly.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/planner/model_builder.h"
#include "tests/tools/cli_testing.h"

namespace berth {
namespace {

using Json = nlohmann::json;

class CliInspect : public ::testing::Test {
 protected:
  void SetUp() override {
    bundle_ = Path("small.berth");
    const CliResult result = RunBerth({"compile", WriteSmallModel(folder_.path()), "-o", bundle_});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  CliResult Inspect(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"inspect", bundle_});
    return RunBerth(flags);
  }

  ScratchFolder folder_;
  std::string bundle_;
};

TEST_F(CliInspect, AllViewsAtOnce) {
  const CliResult result = Inspect({"--timeline", "--interference", "--why", "scores",
                                    "--memory-map", Path("map.html"), "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const Json json = result.Json();
  for (const char* key : {"bundle", "model", "pool_bytes", "timeline", "interference", "why"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["interference"]["pool"]["clique_bytes"], json["pool_lower_bound_bytes"]);
  EXPECT_EQ(json["timeline"]["peak_bytes"], json["pool_lower_bound_bytes"]);
  EXPECT_EQ(json["why"]["name"], "scores");
  EXPECT_EQ(json["memory_map"]["file"], Path("map.html"));
  EXPECT_EQ(json["memory_map"]["file_bytes"], std::filesystem::file_size(Path("map.html")));
  EXPECT_FALSE(json.contains("sections"));
}

TEST_F(CliInspect, TextHasOnePartPerView) {
  const std::string text =
      Inspect({"--timeline", "--interference", "--why", "scores", "--memory-map", Path("map.html")})
          .out;
  size_t at = 0;
  for (const char* part :
       {"Values of 'small'", "Interference in the pool", "'scores' float32[1x10]", "Wrote '"}) {
    at = text.find(part, at);
    EXPECT_NE(at, std::string::npos) << part << "\n" << text;
  }
}

TEST_F(CliInspect, WhyOfAnOp) {
  const Json ops = Inspect({"--json"}).Json()["ops"];
  const std::string name = ops[0]["name"];
  const CliResult result = Inspect({"--why", name, "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const Json json = result.Json();
  const Json& why = json.contains("why_op") ? json["why_op"] : json["why"];
  EXPECT_EQ(why["name"], name);
  EXPECT_EQ(why["decision"], ops[0]["decision"]);
  EXPECT_TRUE(why.contains("bound_by"));
  const CliResult text = Inspect({"--why", name});
  EXPECT_NE(text.out.find("op 0 '" + name + "'"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("bound by "), std::string::npos) << text.out;
}

TEST_F(CliInspect, UnknownValue) {
  const CliResult result = Inspect({"--timeline", "--why", "score"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");  // nothing by halves
  EXPECT_TRUE(result.HasOneLineError()) << result.err;
  EXPECT_NE(result.err.find("'scores'"), std::string::npos) << result.err;
}

TEST_F(CliInspect, CalledWrongly) {
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {"--why"}, {"--memory-map"}, {"--why", "a", "--why", "b"}, {"--timelines"}}) {
    const CliResult result = Inspect(flags);
    EXPECT_EQ(result.exit_code, 2) << flags[0];
    EXPECT_TRUE(result.HasOneLineError()) << result.err;
  }
}

TEST_F(CliInspect, AMapThatCannotBeWrittenLeavesNothing) {
  const CliResult result = Inspect({"--memory-map", Path("absent/map.html")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.HasOneLineError()) << result.err;
  EXPECT_FALSE(std::filesystem::exists(Path("absent")));
}

}  // namespace
}  // namespace berth
