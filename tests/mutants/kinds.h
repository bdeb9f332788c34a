// The kinds of input: what their mutants are made from, and the code that reads them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/draw.h"
#include "tests/mutants/child.h"
#include "tests/mutants/files.h"

namespace graphrun::mutants {

class Kind {
 public:
  virtual ~Kind() = default;
  // Prepares what mutants are made from; called before the first of them.
  virtual void prepare() {}
  // The mutant's files, except those common to all mutants.
  virtual Files mutant(tests::Draw& random) const = 0;
  // Reads them as the programs do; runs in a child. Throws what that throws.
  virtual void run(const Files& files) const = 0;
};

// Each kind works in `folder`, which is empty; `children` run the preparations that need threads.
using MakeKind = std::unique_ptr<Kind> (*)(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_graphs(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_jobs(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_models(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_checkpoints(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_data(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_lines(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_piece_models(const std::string& folder, Children& children);

struct NamedKind {
  std::string name;
  MakeKind make;
};
inline const std::vector<NamedKind>& kinds() {
  static const std::vector<NamedKind> kAll = {{"graph", make_graphs},           {"job", make_jobs},  {"model", make_models},
                                              {"checkpoint", make_checkpoints}, {"data", make_data}, {"infer", make_lines},
                                              {"pieces", make_piece_models}};
  return kAll;
}

}  // namespace graphrun::mutants
