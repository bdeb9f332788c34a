// The kinds of input: what mutants of each are made of, and what takes them in.
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
  // What mutants are made from; before the first of them.
  virtual void prepare() {}
  // Files beyond those that are the same for all.
  virtual Files mutant(tests::Draw& random) const = 0;
  // Takes them in as the programs do; in a child. Throws what comes of it.
  virtual void run(const Files& files) const = 0;
};

// Each works in `folder`, an empty one; `children` make what takes threads to make.
using MakeKind = std::unique_ptr<Kind> (*)(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_graphs(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_jobs(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_models(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_checkpoints(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_data(const std::string& folder, Children& children);
std::unique_ptr<Kind> make_lines(const std::string& folder, Children& children);

struct NamedKind {
  std::string name;
  MakeKind make;
};
inline const std::vector<NamedKind>& kinds() {
  static const std::vector<NamedKind> kAll = {{"graph", make_graphs},           {"job", make_jobs},  {"model", make_models},
                                              {"checkpoint", make_checkpoints}, {"data", make_data}, {"infer", make_lines}};
  return kAll;
}

}  // namespace graphrun::mutants
