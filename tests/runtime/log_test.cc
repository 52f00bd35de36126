// What a host is told, and how: nothing by default, and through spdlog where it wants that.
#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

#include "berth/spdlog_logger.h"
#include "tests/runtime/run_testing.h"

namespace berth {
namespace {

TEST(Log, IsSilentByDefaultAndFormatsNothing) {
  const Logger logger;
  EXPECT_FALSE(logger.Wants(LogLevel::kError));
  Log(logger, LogLevel::kError, "{}", 1);  // calls no sink
  Logger without_sink;
  without_sink.level = LogLevel::kDebug;
  EXPECT_FALSE(without_sink.Wants(LogLevel::kError));
}

TEST(Log, TellsTheLevelThatIsWantedAndWhatIsGraver) {
  std::vector<std::string> lines;
  Logger logger{LogLevel::kWarning, [&lines](LogLevel level, std::string_view message) {
                  lines.push_back(fmt::format("{} {}", static_cast<int>(level), message));
                }};
  Log(logger, LogLevel::kError, "a {}", 1);
  Log(logger, LogLevel::kWarning, "b");
  Log(logger, LogLevel::kInfo, "c");
  EXPECT_THAT(lines, testing::ElementsAre("1 a 1", "2 b"));
}

TEST(Log, GoesThroughALoggerOfSpdlog) {
  std::ostringstream text;
  const auto host = std::make_shared<spdlog::logger>(
      "host", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
  host->set_pattern("%l: %v");
  const auto program = Program::FromContents(CompileSmallNetwork(), LoadLevel::kFull, {},
                                             LogTo(host, LogLevel::kInfo));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(text.str(), testing::StartsWith("info: model '"));
  // Braces in a message are no format.
  text.str("");
  const Logger logger = LogTo(host);
  logger.sink(LogLevel::kError, "{} {");
  EXPECT_EQ(text.str(), "error: {} {\n");
  EXPECT_FALSE(LogTo(nullptr).Wants(LogLevel::kError));
}

}  // namespace
}  // namespace berth
