// NVIDIA's run-time compiler, loaded when the first kernel is generated: machine code for a device from a text. It needs no
// device.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace graphrun::cuda {

class Nvrtc {
 public:
  // Null where there is none; `why` says what was looked for. Lives as long as the program.
  static const Nvrtc* instance(std::string& why);

  const std::string& version() const { return version_; }                   // "13.0"
  const std::vector<int>& architectures() const { return architectures_; }  // 75, 80, … that it knows

  // Code that a device of `architecture` ("sm_90", or "compute_90" for newer ones) loads; texts include device_headers().
  // Throws InternalError with the compiler's messages. Without `optimize` it takes a fraction of the time.
  std::string compile(const std::string& text, const std::string& architecture, bool optimize = true) const;

 private:
  struct Functions;
  explicit Nvrtc(std::shared_ptr<const Functions> functions);

  std::shared_ptr<const Functions> functions_;
  std::string version_;
  std::vector<int> architectures_;
};

// What to compile for, for a device of compute capability `device` (major · 10 + minor): its own machine code where the
// compiler knows it; else that of the nearest older device of the same generation, which it runs too; else PTX of the newest
// one, which the driver compiles. Throws UserError (kRunFailed, E0513) for a device older than all of them.
std::string architecture_for(int device, const std::vector<int>& known);

}  // namespace graphrun::cuda
