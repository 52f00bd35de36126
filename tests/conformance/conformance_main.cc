// The operator tests that come with the onnx library, through the machine. Each case passes, or is
// refused with the reason that stands in the checked-in list; a listed case that passes, a changed
// reason, a wrong value, a crash or a hang fails the suite.
//
//   conformance DATA_FOLDER LIST [--write-list] [CASE...]
//
// Constants are folded without reference kernels and shapes are given, so that what passes was
// computed by the machine; only models whose shapes hang on what they compute run as dynamic
// bundles, where the host engine computes what decides them. Each case runs in a process of its
// own.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/run_case.h"

namespace {

namespace fs = std::filesystem;

constexpr const char* kSuites[] = {"node", "simple", "pytorch-converted", "pytorch-operator"};
constexpr unsigned kSecondsPerCase = 20;

struct Verdict {
  char outcome = 'C';  // P passed, R refused, W wrong, C crashed or hung
  std::string message;
};

char Letter(berth::CaseOutcome outcome) {
  switch (outcome) {
    case berth::CaseOutcome::kPassed:
      return 'P';
    case berth::CaseOutcome::kRefused:
      return 'R';
    case berth::CaseOutcome::kWrong:
      return 'W';
  }
  return 'C';
}

Verdict RunInChild(const std::string& folder) {
  int channel[2];
  if (pipe(channel) != 0) return {'C', "no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    close(channel[0]);
    alarm(kSecondsPerCase);
    const berth::CaseResult result = berth::RunCase(folder);
    const std::string text = Letter(result.outcome) + result.message;
    const ssize_t written = write(channel[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(channel[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(channel[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {'C', fmt::format("signal {}", WTERMSIG(status))};
  if (text.empty()) return {'C', fmt::format("exit status {}", WEXITSTATUS(status))};
  return {text[0], text.substr(1)};
}

// Lines "suite/case<TAB>reason".
std::map<std::string, std::string> ReadList(const std::string& path) {
  std::map<std::string, std::string> list;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    if (tab != std::string::npos) list[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return list;
}

std::vector<std::string> FindCases(const std::string& data) {
  std::vector<std::string> cases;
  for (const char* suite : kSuites) {
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(data) / suite)) {
      if (fs::exists(entry.path() / "model.onnx")) {
        cases.push_back(fmt::format("{}/{}", suite, entry.path().filename().string()));
      }
    }
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

// What is wrong with a verdict, given the list; empty when it is as it should be.
std::string Complaint(const Verdict& verdict, const std::string* listed) {
  if (verdict.outcome == 'W') return "wrong value: " + verdict.message;
  if (verdict.outcome == 'C') return "crashed or hung: " + verdict.message;
  if (verdict.outcome == 'P') return listed == nullptr ? "" : "passes: take it off the list";
  if (listed == nullptr) return "refused: " + verdict.message;
  if (*listed != verdict.message) {
    return fmt::format("the reason changed from '{}' to '{}'", *listed, verdict.message);
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: conformance DATA_FOLDER LIST [--write-list] [CASE...]\n");
    return 2;
  }
  const std::string data = argv[1];
  if (!fs::is_directory(data)) {
    fmt::print("ALL TESTS SKIPPED: no operator tests at {}\n", data);
    return 0;
  }
  const bool write_list = argc > 3 && std::strcmp(argv[3], "--write-list") == 0;
  std::vector<std::string> cases(argv + (write_list ? 4 : 3), argv + argc);
  const bool whole = cases.empty();
  if (whole) cases = FindCases(data);
  const std::map<std::string, std::string> list = ReadList(argv[2]);
  std::map<std::string, int> passed, total;
  int complaints = 0;
  std::string new_list;
  for (const std::string& name : cases) {
    const Verdict verdict = RunInChild(data + "/" + name);
    const std::string suite = name.substr(0, name.find('/'));
    ++total[suite];
    if (verdict.outcome == 'P') ++passed[suite];
    if (verdict.outcome == 'R') new_list += fmt::format("{}\t{}\n", name, verdict.message);
    const auto listed = list.find(name);
    const std::string complaint =
        Complaint(verdict, listed == list.end() ? nullptr : &listed->second);
    if (complaint.empty()) continue;
    if (write_list && verdict.outcome != 'W' && verdict.outcome != 'C') continue;
    ++complaints;
    fmt::print("{}: {}\n", name, complaint);
  }
  if (write_list && whole) std::ofstream(argv[2]) << new_list;
  for (const auto& [suite, count] : total) {
    fmt::print("{}: {} of {} pass\n", suite, passed[suite], count);
  }
  fmt::print("{} complaints\n", complaints);
  return complaints == 0 ? 0 : 1;
}
