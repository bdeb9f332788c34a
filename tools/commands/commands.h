// The commands of graphrun. Each has a file of its own, takes the words after its name and returns the exit code; mistakes are
// thrown (tools/cli/program.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace graphrun {

using Arguments = std::vector<std::string>;

ExitCode run_train(const Arguments& arguments);
ExitCode run_infer(const Arguments& arguments);
ExitCode run_evaluate(const Arguments& arguments);
ExitCode run_average(const Arguments& arguments);
ExitCode run_check(const Arguments& arguments);
ExitCode run_new(const Arguments& arguments);
ExitCode run_lsp(const Arguments& arguments);
ExitCode run_format(const Arguments& arguments);
ExitCode run_data(const Arguments& arguments);
ExitCode run_bench(const Arguments& arguments);
ExitCode run_gradcheck(const Arguments& arguments);
ExitCode run_plot(const Arguments& arguments);
ExitCode run_report(const Arguments& arguments);
ExitCode run_score(const Arguments& arguments);
ExitCode run_shortlist(const Arguments& arguments);
ExitCode run_run(const Arguments& arguments);
ExitCode run_verify(const Arguments& arguments);
ExitCode run_replay(const Arguments& arguments);
ExitCode run_compare(const Arguments& arguments);
ExitCode run_help(const Arguments& arguments);

struct Command {
  std::string name, summary;
  ExitCode (*run)(const Arguments&);
};
const std::vector<Command>& commands();              // in the order in which help lists them
const Command* find_command(std::string_view name);  // null if there is none
std::vector<std::string> command_names();

// The output of `graphrun --help`.
std::string program_help();

}  // namespace graphrun
