#include "tools/run/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "tools/cli/program.h"
#include "tools/run/clock.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

constexpr double kLiveEvery = 0.2;  // seconds

}  // namespace

std::string clock_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t h = whole / 3600, m = whole / 60 % 60, s = whole % 60;
  return h > 0 ? fmt::format("{}:{:02}:{:02}", h, m, s) : fmt::format("{}:{:02}", m, s);
}

std::string short_number(double number) {
  if (number < 999.5) return fmt::format("{:.0f}", number);
  if (number < 99950) return fmt::format("{:.1f}k", number / 1e3);
  if (number < 999500) return fmt::format("{:.0f}k", number / 1e3);
  return fmt::format("{:.2f}M", number / 1e6);
}

std::string cut_to(std::string_view text, std::size_t columns) { return std::string(first_code_points(text, columns)); }

std::string progress_line(const Progress& p) {
  std::string line = fmt::format("{}  step {}", epoch_text(p.epoch, p.epochs), p.step);
  if (p.steps > 0) line += fmt::format("/{}", p.steps);
  if (p.updates > 0) line += fmt::format("  update {}/{}", p.update, p.updates);
  line += fmt::format("  loss {:.4f}  {} tokens/s", p.loss, short_number(p.tokens_per_second));
  if (p.seconds_left >= 0) line += "  " + clock_text(p.seconds_left) + " left";
  return line;
}

std::string epoch_text(std::int64_t epoch, std::int64_t epochs) {
  return epochs > 0 ? fmt::format("epoch {}/{}", epoch, epochs) : fmt::format("epoch {}", epoch);
}

ProgressOptions ProgressDisplay::for_stderr(bool quiet) {
  ProgressOptions options;
  options.quiet = quiet;
  options.color = color_on_stderr();
  const char* term = std::getenv("TERM");
  options.terminal = isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
  struct winsize size {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) options.columns = size.ws_col;
  return options;
}

ProgressOptions ProgressDisplay::silent() {
  ProgressOptions options;
  options.out = nullptr;
  return options;
}

ProgressDisplay::ProgressDisplay(ProgressOptions options) : options_(std::move(options)) {
  if (!options_.now) options_.now = seconds_now;
}

ProgressDisplay::~ProgressDisplay() { clear(); }

void ProgressDisplay::keep_log(const std::string& path) {
  log_.emplace(path);
  for (const std::string& line : before_log_) log_->write(line);
}

void ProgressDisplay::record(std::string_view text) {
  if (options_.out == nullptr) return;
  const std::string time = time_text();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line = fmt::format("{} {}", time, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (log_) {
      log_->write(line);
    } else {
      before_log_.push_back(std::move(line));
    }
  }
}

void ProgressDisplay::update(const Progress& progress) {
  if (options_.out == nullptr) return;
  const double now = options_.now();
  if (now - recorded_ >= options_.every) {
    recorded_ = now;
    record(progress_line(progress));
  }
  if (options_.quiet || now - shown_ < (options_.terminal ? kLiveEvery : options_.every)) return;
  shown_ = now;
  if (!options_.terminal) return print(progress_line(progress));
  // Leaves the last column free, because a terminal would begin a new line.
  std::fputs(("\r\033[K" + cut_to(progress_line(progress), options_.columns - 1)).c_str(), options_.out);
  std::fflush(options_.out);
  live_ = true;
}

void ProgressDisplay::log(std::string_view line) {
  if (!options_.quiet) print(line);
  record(line);
}

void ProgressDisplay::warn(std::string_view text) {
  print(text);
  record(text);
}

void ProgressDisplay::warn(const std::vector<Diagnostic>& diagnostics) {
  print(render(diagnostics, options_.color));
  record(render(diagnostics, false));
}

void ProgressDisplay::clear() {
  if (!live_) return;
  std::fputs("\r\033[K", options_.out);
  std::fflush(options_.out);
  live_ = false;
}

void ProgressDisplay::print(std::string_view line) {
  if (options_.out == nullptr) return;
  clear();
  std::fwrite(line.data(), 1, line.size(), options_.out);
  std::fputc('\n', options_.out);
  std::fflush(options_.out);
}

}  // namespace graphrun
