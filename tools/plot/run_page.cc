#include "tools/plot/run_page.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "runtime/base/file.h"
#include "runtime/base/markup.h"
#include "tools/json/json.h"
#include "tools/model/layout.h"
#include "tools/plot/chart.h"
#include "tools/plot/curves.h"
#include "tools/run/clock.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestLog = std::uint64_t{1} << 30;  // bytes
constexpr std::size_t kLogLines = 200;                         // of the end of the log

std::string text_of_file(const std::string& path) { return is_there(path) ? read_file(path, kLargestLog) : ""; }

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

nlohmann::ordered_json last_start(const std::string& folder) {
  const std::vector<std::string> lines = split_lines(text_of_file(ModelLayout{folder}.starts()));
  if (lines.empty()) return nlohmann::ordered_json::object();
  nlohmann::ordered_json json = parse_ordered_json_or_discard(lines.back());
  return json.is_object() ? json : nlohmann::ordered_json::object();
}

std::string cell_text(const nlohmann::ordered_json& value) {
  if (value.is_number_float()) return fmt::format("{:.4f}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

// The last reports of a run, by set: "valid f1", in the order of the job.
std::vector<std::pair<std::string, std::string>> last_reports(const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const char* const set : {"valid", "test"}) {
    nlohmann::ordered_json last;
    for (const std::string& text : split_lines(text_of_file(ModelLayout{folder}.metrics()))) {
      const auto line = parse_ordered_json_or_discard(text);
      if (line.is_object() && line.contains(set)) last = line[set];
    }
    for (const auto& [name, value] : last.items()) found.emplace_back(std::string(set) + " " + name, cell_text(value));
  }
  return found;
}

std::string reports_html(const RunPage& page) {
  std::vector<std::vector<std::string>> rows = {{"run"}};
  for (const std::string& folder : page.folders) {
    for (const auto& [name, value] : last_reports(folder)) {
      if (std::find(rows[0].begin(), rows[0].end(), name) == rows[0].end()) rows[0].push_back(name);
    }
  }
  for (std::size_t r = 0; r < page.folders.size(); ++r) {
    std::vector<std::string> row = {page.names[r]};
    const auto reports = last_reports(page.folders[r]);
    for (std::size_t c = 1; c < rows[0].size(); ++c) {
      const auto found = std::find_if(reports.begin(), reports.end(), [&](const auto& of) { return of.first == rows[0][c]; });
      row.push_back(found == reports.end() ? "–" : found->second);
    }
    rows.push_back(std::move(row));
  }
  return rows[0].size() > 1 ? html_table(rows) : "";
}

std::string machine_html(const RunPage& page) {
  const std::vector<std::string> keys = {"time", "machine", "processor", "device", "threads", "version", "compiler", "program"};
  std::vector<std::vector<std::string>> rows = {{"run"}};
  rows[0].insert(rows[0].end(), keys.begin(), keys.end());
  for (std::size_t r = 0; r < page.folders.size(); ++r) {
    const nlohmann::ordered_json start = last_start(page.folders[r]);
    std::vector<std::string> row = {page.names[r]};
    for (const std::string& key : keys) row.push_back(start.contains(key) ? cell_text(start[key]).substr(0, 40) : "–");
    rows.push_back(std::move(row));
  }
  return html_table(rows);
}

// "2026-11-26 14:00:00  sample 1  english: …": the lines of the last validation, without times.
std::string samples_html(const std::string& folder) {
  std::vector<std::string> samples;
  std::string first;
  for (const std::string& line : split_lines(text_of_file(ModelLayout{folder}.log()))) {
    const std::size_t at = line.find("sample ");
    if (at == std::string::npos || at > 40 || line.find(": ", at) == std::string::npos) continue;
    const std::string sample = line.substr(at), number = sample.substr(0, sample.find(": "));
    if (samples.empty()) first = number;
    if (number == first) samples.clear();
    samples.push_back(sample);
  }
  std::string text;
  for (const std::string& sample : samples) text += sample + "\n";
  return text.empty() ? "" : preformatted(text);
}

std::string end_of_log(const std::string& folder) {
  std::vector<std::string> lines = split_lines(text_of_file(ModelLayout{folder}.log()));
  if (lines.size() > kLogLines) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kLogLines));
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text.empty() ? "" : preformatted(text);
}

// The runs with those of their curves that are wanted.
template <class Wanted>
std::string curves_html(std::vector<RunCurves> runs, const char* description, const Wanted& wanted) {
  bool any = false;
  for (RunCurves& run : runs) {
    std::erase_if(run.order, [&](const std::string& curve) { return !wanted(run.watched.count(curve) != 0); });
    any = any || !run.order.empty();
  }
  return any ? svg_image(draw_runs(runs), description) : "";
}

}  // namespace

bool run_has_ended(const std::string& folder) {
  const nlohmann::ordered_json start = last_start(folder);
  if (!start.contains("process") || !start["process"].is_number_integer()) return true;
  if (!start.contains("machine") || start["machine"] != machine_name()) return true;
  return kill(start["process"].get<pid_t>(), 0) != 0 && errno == ESRCH;
}

std::string run_page(const RunPage& page) {
  std::vector<RunCurves> runs, speeds;
  for (std::size_t r = 0; r < page.folders.size(); ++r) {
    runs.push_back(read_run(page.folders[r]));
    speeds.push_back(read_speed(page.folders[r]));
    runs.back().name = speeds.back().name = page.names[r];
  }
  const auto of_run = [&](std::size_t r) { return page.folders.size() > 1 ? " of " + page.names[r] : std::string(); };
  std::vector<PageSection> sections;
  sections.push_back({"Reports", reports_html(page)});
  sections.push_back({"Curves", curves_html(runs, "curves", [](bool watched) { return !watched; })});
  sections.push_back({"Watched", curves_html(runs, "watched figures", [](bool watched) { return watched; })});
  sections.push_back({"Speed and memory", curves_html(speeds, "speed", [](bool) { return true; })});
  std::string tables;
  for (const auto& [name, of] : page.details) {
    tables += fmt::format("<h3>{}</h3>\n", escaped(name));
    for (const Table& table : of) tables += html_figures(table);
  }
  sections.push_back({"By class and group" + of_run(0), tables});
  if (!page.alignments.empty())
    sections.push_back({"Alignments" + of_run(0), svg_image(draw_alignments(page.alignments), "alignments")});
  for (std::size_t r = 0; r < page.folders.size(); ++r) {
    sections.push_back({"Samples" + of_run(r), samples_html(page.folders[r])});
  }
  sections.push_back({"Machine", machine_html(page)});
  for (std::size_t r = 0; r < page.folders.size(); ++r) {
    const std::string job = text_of_file(ModelLayout{page.folders[r]}.job());
    sections.push_back({"Job" + of_run(r), job.empty() ? "" : preformatted(job), true});
    sections.push_back({"Log" + of_run(r), end_of_log(page.folders[r]), true});
  }
  std::string title = "graphrun:";
  for (const std::string& name : page.names) title += " " + name;
  return html_page(title, sections, page.refresh);
}

}  // namespace graphrun
