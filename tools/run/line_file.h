// A file that a run adds lines to as long as it goes, in all its starts: what a clock made (speed.jsonl, train.log). It is
// never cut back, so that it also shows the work that a kill has lost. Nothing waits for the disk.
#pragma once

#include <string>
#include <string_view>

namespace graphrun {

class LineFile {
 public:
  // Opens the file for adding to it, made where there is none. A last line that a kill or a full disk cut off is removed.
  // Throws UserError: E0501 (kBadData) where its end can't be read; (kNoRoom) E0502, E0505.
  explicit LineFile(std::string path);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // Adds `line`, which has no line break in it, and one. Throws UserError (kNoRoom): E0502, E0505 where the disk is full.
  void write(std::string_view line);

 private:
  void cut_torn_line();

  std::string path_;
  int file_ = -1;
};

}  // namespace graphrun
