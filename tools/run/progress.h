// What a person watching sees: one live line on a terminal, a line now and then elsewhere. Everything goes to stderr, and each
// line that stays into a run's train.log too.
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
  std::int64_t epoch = 1, epochs = 1;  // 0: the run does not end by them
  std::int64_t step = 0, steps = 0;    // of this epoch
  double loss = 0;
  double tokens_per_second = 0;
  double seconds_left = -1;              // of the run; negative: not known
  std::int64_t update = 0, updates = 0;  // of the run; 0: it does not end by them
};

// "epoch 3/50  step 120/433  loss 1.2345  12.3k tokens/s  4:32 left", "epoch 3  step 120/433  update 986/2000  loss …"
std::string progress_line(const Progress& progress);
// "epoch 3/50", or "epoch 3" where there is no last one.
std::string epoch_text(std::int64_t epoch, std::int64_t epochs);
// "0:07", "4:32", "2:04:09"
std::string clock_text(double seconds);
// "950", "12.3k", "1.20M"
std::string short_number(double number);
// The first `columns` columns of a line of ASCII or UTF-8 text, a character each.
std::string cut_to(std::string_view text, std::size_t columns);

struct ProgressOptions {
  bool quiet = false;     // says nothing but warnings
  bool terminal = false;  // a live line
  std::size_t columns = 80;
  double every = 10;            // seconds between lines where it is no terminal
  std::FILE* out = stderr;      // null: nothing is shown or kept
  std::function<double()> now;  // seconds; empty: the steady clock
  bool color = false;           // of diagnostics
};

class ProgressDisplay {
 public:
  explicit ProgressDisplay(ProgressOptions options);
  // ProgressOptions as stderr and NO_COLOR have them.
  static ProgressOptions for_stderr(bool quiet);
  // Says nothing at all: of a process for which another one speaks.
  static ProgressOptions silent();
  ~ProgressDisplay();

  // From here on every line is added to this file, a time before it, with those of before: all that is shown where there is no
  // terminal, also where the display is quiet. Another call begins another file. Throws what LineFile throws; so do the
  // functions below from then on.
  void keep_log(const std::string& path);

  void update(const Progress& progress);
  // A line that stays.
  void log(std::string_view line);
  // Stays, and is shown when quiet too.
  void warn(std::string_view text);
  void warn(const std::vector<Diagnostic>& diagnostics);
  // For the log alone: what others show.
  void record(std::string_view text);

 private:
  void clear();
  void print(std::string_view line);

  ProgressOptions options_;
  double shown_ = -1e300, recorded_ = -1e300;  // when an update was
  bool live_ = false;                          // a live line stands on the terminal
  std::optional<LineFile> log_;
  std::vector<std::string> before_log_;  // lines with their times
};

}  // namespace graphrun
