// The text of a device's kernel for a pointwise program: what stands between its instructions stays in registers. The host
// makes it when a kernel is bound; NVRTC compiles it on the device's machine, the host's compiler where a device is emulated.
//
// Sizes come with the launch, so that one text serves many shapes. What is part of it: the instructions and their types, which
// operands are whole, repeated or one element, and along how many axes; whether elements are counted in 32 bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/generated/argument_layout.h"
#include "ops/generated/device_functions.h"
#include "ops/tiles/tile_program.h"
#include "runtime/base/identifier.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// A text that defines the kernel `entry` (runtime/cuda/generated.h).
struct DeviceText {
  std::string entry, text;
};

// What every text of pointwise work includes.
inline constexpr const char* kDeviceIncludes =
    "#include \"ops/generated/device_lines.h\"\n#include \"ops/generated/device_pack.h\"\n";

// How every text begins and ends behind its includes.
inline constexpr const char* kTextBegin = "\nnamespace graphrun::generated_@ {\n\n";
inline constexpr const char* kTextEnd = "\n}  // namespace graphrun::generated_@\n";

// How the text spells the draws of a dropout.
template <>
inline constexpr const char* kArgumentTypeName<element::DrawnTensor> = "element::DrawnTensor";

// C's name of an element's type.
const char* device_type(DType dtype);
// A number of that type, as C writes it.
std::string device_literal(double number, DType dtype);

// Gives a text its names: every "@" in `body` becomes a digest of it, which tells it from all others.
DeviceText named_text(const std::string& includes, const std::string& body);
// The same text with comments: `commented` differs from `body` in these alone and gets its names.
std::string commented_text(const std::string& includes, const std::string& body, const std::string& commented);

// Whether a text quotes the equations that its parts came from. What is compiled does not: comments of a user's file change no
// kernel, and never reach a compiler.
enum class Comments : std::uint8_t { kNone, kEquations };
// A line of comment: the file, the line and the equation there; nothing where the place is unknown.
std::string equation_comment(const Location& at, const std::string& indent, Comments comments);

// What the values of a program are called in the graph. Where a name is missing, inputs are x0, x1, … and instructions t0, t1,
// …
struct CodeNames {
  std::vector<std::string> inputs;
  std::vector<Origin> instructions;
};
CodeNames code_names(const KernelRequest& request);

// The part of a kernel's text that computes the results of elements.
class DeviceCode {
 public:
  // For inputs that broadcast to `result`, the sizes of every step.
  DeviceCode(const Sizes& result, std::span<const TensorView> inputs, TileSteps steps, const CodeNames& names = {});

  // The text's begin: the type `Index`, in which elements are counted.
  std::string index_type() const;
  // A member of that type.
  Argument add_index(ArgumentLayout& to, std::string name, std::int64_t value) const;
  // The first members of struct Arguments: the addresses of the inputs, by their names; sizes, which are known; draws.
  const ArgumentLayout& arguments() const { return arguments_; }
  Argument input_argument(std::size_t k) const { return inputs_[k]; }
  Argument draw_argument(std::size_t d) const { return draw_arguments_[d]; }
  const std::vector<Draw>& draws() const { return steps_.draws; }
  // `Results<width>`, a struct of packs, and `compute<width>(const Arguments&, first)`, which gives those of elements first to
  // first + width: of one row, and of addresses that are multiples of `width` elements, where that is more than 1.
  std::string functions(Comments comments) const;
  // Names of members: of Arguments an input's address or a draw, of Results a result.
  const std::string& input_name(std::size_t k) const { return input_names_[k]; }
  const std::string& result_name(std::size_t r) const { return result_names_[r]; }
  // What those who add to Arguments call the address of a result.
  const std::string& target_name(std::size_t r) const { return target_names_[r]; }
  // All names that are taken.
  const Identifiers& names() const { return names_; }
  static std::string draw_name(std::size_t d) { return "draw" + std::to_string(d); }
  // C's name of the type of a result.
  std::string type_of_result(std::size_t r) const;
  std::string type_of_input(std::size_t k) const;
  DType dtype_of_result(std::size_t r) const;
  DType dtype_of_input(std::size_t k) const { return types_[k]; }
  std::size_t inputs() const { return types_.size(); }

  const Sizes& sizes() const { return result_; }
  // Whether input k is read in packs where they are, rather than element by element.
  bool reads_packs(std::size_t k) const;
  bool small() const { return small_; }  // elements are counted in 32 bits
  // Elements that a thread can take at once, as far as sizes tell.
  int width() const { return axes_.inner() % 4 == 0 ? 4 : 1; }

 private:
  enum class Form : std::uint8_t { kWhole, kOne, kStrided };

  std::string operand_text(const TileStep& step, std::size_t k) const;
  std::string expression(std::size_t step) const;
  std::string instruction(std::size_t step) const;
  void find_names(const CodeNames& names);
  std::string places() const;  // where strided operands' elements stand

  Sizes result_;
  TileSteps steps_;
  std::vector<DType> types_;  // of the inputs
  TileAxes axes_;
  std::vector<Form> forms_;  // by input
  ArgumentLayout arguments_;
  std::vector<Argument> inputs_, draw_arguments_;
  Identifiers names_;
  std::vector<std::string> input_names_, step_names_, result_names_, target_names_;
  std::vector<std::string> pack_names_, place_names_;  // by input: of its elements together, and where they are
  std::vector<Location> places_;                       // by step: of the equation
  bool small_ = true;
};

// The kernel that writes all results, of the same sizes.
struct ElementwiseText : DeviceText {
  ArgumentLayout arguments;
  std::vector<Argument> results;  // addresses
  Argument wide;                  // whether threads take four elements at once: std::int32_t
};
ElementwiseText elementwise_text(const DeviceCode& code, std::size_t results);
// That text with comments.
std::string commented_elementwise_text(const DeviceCode& code, std::size_t results);

}  // namespace graphrun
