// NVIDIA's run-time compiler: compiles a text to machine code for a device. It is loaded when the first kernel is generated,
// and needs no device.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace graphrun::cuda {

class Nvrtc {
 public:
  // Null if the library is not found; `why` then says which files were tried. Lives as long as the program.
  static const Nvrtc* instance(std::string& why);

  const std::string& version() const { return version_; }                   // "13.0"
  const std::vector<int>& architectures() const { return architectures_; }  // 75, 80, …: those that it supports

  // Code that a device of `architecture` ("sm_90", or "compute_90" for newer ones) loads; texts include device_headers().
  // Throws InternalError with the compiler's messages. Compiling without `optimize` takes a fraction of the time.
  std::string compile(const std::string& text, const std::string& architecture, bool optimize = true) const;

 private:
  struct Functions;
  explicit Nvrtc(std::shared_ptr<const Functions> functions);

  std::shared_ptr<const Functions> functions_;
  std::string version_;
  std::vector<int> architectures_;
};

// The architecture to compile for, given a device of compute capability `device` (major · 10 + minor): its own if the compiler
// supports it; else the nearest older one of the same generation, whose machine code the device runs too; else PTX of the
// newest one, which the driver compiles. Throws UserError (kRunFailed, E0513) if the device is older than all of them.
std::string architecture_for(int device, const std::vector<int>& known);

}  // namespace graphrun::cuda
