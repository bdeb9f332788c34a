// A file to which all starts of a run append lines that depend on a clock (speed.jsonl, train.log). It is never truncated, so
// it also shows work that was lost in a kill. Writing does not wait for the disk.
#pragma once

#include <string>
#include <string_view>

namespace graphrun {

class LineFile {
 public:
  // Opens the file for appending, and creates it if needed. Removes a last line that a kill or a full disk cut off. Throws
  // UserError: (kBadData) E0501 if its end cannot be read; (kNoRoom) E0502, E0505.
  explicit LineFile(std::string path);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // Appends `line`, which must not contain a line break, and a line break. Throws UserError (kNoRoom): E0502; E0505 if the disk
  // is full.
  void write(std::string_view line);

 private:
  void cut_torn_line();

  std::string path_;
  int file_ = -1;
};

}  // namespace graphrun
