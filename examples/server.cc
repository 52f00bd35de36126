// A server's loop: many requests, one program, one pool of arenas. server BUNDLE.berth [REQUESTS]
//
// Each worker has a context that lives as long as the worker, and leases its arena for each run
// alone: the pool's limit holds two arenas however many workers there are, and who finds none waits
// in turn. A request that is not done in time is told so and holds up nobody.
#include <berth/arena_pool.h>
#include <berth/context.h>
#include <berth/program.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

namespace {

constexpr int kWorkers = 4;
constexpr std::chrono::seconds kTimePerRequest(10);

struct Server {
  std::shared_ptr<const berth::Program> program;
  berth::ArenaPool& pool;
  std::atomic<int> requests_left;
  std::atomic<int> served{0}, failed{0};
};

// Until no request is left. A real server would take each from its queue.
absl::Status Work(Server& server) {
  berth::ContextOptions options;
  options.arena_use = berth::ArenaUse::kWhileRunning;
  BERTH_ASSIGN_OR_RETURN(const auto context,
                         berth::Context::Create(server.program, server.pool, options));
  // Buffers are made once: a run in them allocates nothing.
  std::vector<berth::Tensor> inputs, outputs;
  for (const auto& info : server.program->inputs()) inputs.emplace_back(info.type);
  for (const auto& info : server.program->outputs()) outputs.emplace_back(info.type);
  std::vector<berth::ConstTensorView> from;
  std::vector<berth::TensorView> to;
  for (const berth::Tensor& input : inputs) from.push_back(input.view());
  for (berth::Tensor& output : outputs) to.push_back(output.view());
  while (server.requests_left.fetch_sub(1) > 0) {
    berth::RunOptions run;
    run.deadline = std::chrono::steady_clock::now() + kTimePerRequest;
    const absl::Status status = context->Run(from, to, run);
    if (!status.ok()) std::cerr << "server: " << status << "\n";
    ++(status.ok() ? server.served : server.failed);
  }
  return absl::OkStatus();
}

absl::Status Serve(const char* path, int requests) {
  BERTH_ASSIGN_OR_RETURN(const auto program, berth::Program::Load(path));
  berth::ArenaPoolOptions options;
  options.limit_bytes = 2 * program->ArenaBytes();
  berth::ArenaPool pool(options);
  Server server{program, pool, requests};
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&server] {
      const absl::Status status = Work(server);
      if (!status.ok()) std::cerr << "server: " << status << "\n";
    });
  }
  for (std::thread& worker : workers) worker.join();
  const berth::ArenaPoolStatistics statistics = pool.statistics();
  std::cout << server.served << " served, " << server.failed << " failed, " << statistics.peak_bytes
            << " bytes of arenas at most, " << statistics.waits << " waits\n";
  if (server.served == requests) return absl::OkStatus();
  return berth::Internal("{} of {} requests served", server.served.load(), requests);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::cerr << "usage: server BUNDLE.berth [REQUESTS]\n";
    return 2;
  }
  const absl::Status status = Serve(argv[1], argc == 3 ? std::atoi(argv[2]) : 1000);
  if (!status.ok()) std::cerr << "server: " << status << "\n";
  return status.ok() ? 0 : 1;
}
