#pragma once

namespace CLI {
class App;
}

namespace mirrortrain::cli {

/// All of them.
void add_commands(CLI::App& app, int& exit_code);

// Each adds one subcommand to the program. Its callback runs the command and sets `exit_code`; errors are thrown.
void add_fit(CLI::App& app, int& exit_code);
void add_tune(CLI::App& app, int& exit_code);
void add_eval(CLI::App& app, int& exit_code);
void add_bench_allreduce(CLI::App& app, int& exit_code);
void add_checkpoint(CLI::App& app, int& exit_code);
void add_config(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_predict(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_serve(CLI::App& app, int& exit_code);
void add_generate(CLI::App& app, int& exit_code);
void add_init(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_devices(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_runs(CLI::App& app, int& exit_code);
void add_data(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_launch(CLI::App& app, int& exit_code);
void add_help(CLI::App& app, int& exit_code);   ///< hidden: prints the same as -h
void add_usage(CLI::App& app, int& exit_code);  ///< hidden: the man page and completions, for the installation

}  // namespace mirrortrain::cli
