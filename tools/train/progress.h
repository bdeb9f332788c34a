// What a person watching sees: one live line on a terminal, a line now and then elsewhere. Everything goes to stderr.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace graphrun {

struct Progress {
  std::int64_t epoch = 1, epochs = 1;
  std::int64_t step = 0, steps = 0;  // of this epoch
  double loss = 0;
  double tokens_per_second = 0;
  double seconds_left = -1;  // of the run; negative: not known
};

// "epoch 3/50  step 120/433  loss 1.2345  12.3k tokens/s  4:32 left"
std::string progress_line(const Progress& progress);
// "0:07", "4:32", "2:04:09"
std::string clock_text(double seconds);
// "950", "12.3k", "1.20M"
std::string short_number(double number);
// The first `columns` columns of a line of ASCII or UTF-8 text, a character each.
std::string cut_to(std::string_view text, std::size_t columns);

class ProgressDisplay {
 public:
  struct Options {
    bool quiet = false;     // says nothing but warnings
    bool terminal = false;  // a live line
    std::size_t columns = 80;
    double every = 10;  // seconds between lines where it is no terminal
    std::FILE* out = stderr;
    std::function<double()> now;  // seconds; empty: the steady clock
  };
  explicit ProgressDisplay(Options options);
  // Options as stderr and NO_COLOR have them.
  static Options for_stderr(bool quiet);
  ~ProgressDisplay();

  void update(const Progress& progress);
  // A line that stays.
  void log(std::string_view line);
  void warn(std::string_view text);  // stays, and is shown when quiet too

 private:
  void clear();
  void print(std::string_view line);

  Options options_;
  double last_ = -1e300;
  bool live_ = false;  // a live line stands on the terminal
};

}  // namespace graphrun
