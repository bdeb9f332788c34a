// The display of progress: one live line on a terminal, otherwise a line at intervals. Everything goes to stderr; permanent
// lines also go to a run's train.log.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "tools/run/line_file.h"

namespace graphrun {

struct Progress {
  std::int64_t epoch = 1, epochs = 1;  // 0: the run does not end by epochs
  std::int64_t step = 0, steps = 0;    // steps of this epoch
  double loss = 0;
  double tokens_per_second = 0;
  double seconds_left = -1;              // of the run; negative if unknown
  std::int64_t update = 0, updates = 0;  // of the run; 0: it does not end by updates
};

// "epoch 3/50  step 120/433  loss 1.2345  12.3k tokens/s  4:32 left", "epoch 3  step 120/433  update 986/2000  loss …"
std::string progress_line(const Progress& progress);
// "epoch 3/50", or "epoch 3" if there is no last one.
std::string epoch_text(std::int64_t epoch, std::int64_t epochs);
// "0:07", "4:32", "2:04:09"
std::string clock_text(double seconds);
// "950", "12.3k", "1.20M"
std::string short_number(double number);
// The first `columns` columns of a line of ASCII or UTF-8 text, one per character.
std::string cut_to(std::string_view text, std::size_t columns);

struct ProgressOptions {
  bool quiet = false;     // shows only warnings
  bool terminal = false;  // a live line
  std::size_t columns = 80;
  double every = 10;            // seconds between lines without a terminal
  std::FILE* out = stderr;      // null: nothing is shown or logged
  std::function<double()> now;  // seconds; empty: the monotonic clock
  bool color = false;           // color of diagnostics
};

class ProgressDisplay {
 public:
  explicit ProgressDisplay(ProgressOptions options);
  // The options that suit stderr and NO_COLOR.
  static ProgressOptions for_stderr(bool quiet);
  // Shows nothing, not even warnings: for processes other than process 0.
  static ProgressOptions silent();
  ~ProgressDisplay();

  // From now on, appends every line to this file, with the time, including lines from before the call: everything that would be
  // shown without a terminal, even if the display is quiet. Another call begins another file. Throws what LineFile throws, and
  // so do the functions below afterwards.
  void keep_log(const std::string& path);

  void update(const Progress& progress);
  // Shows a permanent line.
  void log(std::string_view line);
  // Shows a permanent line, even if quiet.
  void warn(std::string_view text);
  void warn(const std::vector<Diagnostic>& diagnostics);
  // Only for the log: text that others show.
  void record(std::string_view text);

 private:
  void clear();
  void print(std::string_view line);

  ProgressOptions options_;
  double shown_ = -1e300, recorded_ = -1e300;  // time of the last update
  bool live_ = false;                          // there is a live line on the terminal
  std::optional<LineFile> log_;
  std::vector<std::string> before_log_;  // earlier lines with their times
};

}  // namespace graphrun
