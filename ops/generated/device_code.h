// The text of a device's kernel for a pointwise program; intermediate values stay in registers. The host generates it when a
// kernel is bound. NVRTC compiles it on the user's machine; for the emulated device, the host's compiler does.
//
// Sizes are arguments of the launch, so that one text serves many shapes. The text contains: the instructions and their types;
// which operands are whole, repeated or one element, and along how many axes; whether elements are counted in 32 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/axis_view.h"
#include "ops/generated/argument_layout.h"
#include "ops/generated/device_draws.h"
#include "ops/tiles/tile_program.h"
#include "runtime/base/identifier.h"
#include "runtime/program/kernel.h"

namespace graphrun {

// A text that defines the kernel `entry` (runtime/cuda/generated.h).
struct DeviceText {
  std::string entry, text;
};

// The headers that every text of pointwise work includes.
inline constexpr const char* kDeviceIncludes =
    "#include \"ops/generated/device_lines.h\"\n#include \"ops/generated/device_pack.h\"\n";

// The beginning and end of every text, after its includes.
inline constexpr const char* kTextBegin = "\nnamespace graphrun::generated_@ {\n\n";
inline constexpr const char* kTextEnd = "\n}  // namespace graphrun::generated_@\n";

// The type of a dropout's draws in the text.
template <>
inline constexpr const char* kArgumentTypeName<element::DrawnTensor> = "element::DrawnTensor";

// The C name of an element type.
const char* device_type(DType dtype);
// A number of that type as a C literal.
std::string device_literal(double number, DType dtype);

// Makes the names in a text unique: replaces every "@" in `body` by a digest of the text.
DeviceText named_text(const std::string& includes, const std::string& body);
// The same text with comments: `commented` differs from `body` only in comments, and gets the same names.
std::string commented_text(const std::string& includes, const std::string& body, const std::string& commented);

// Whether a text quotes the equations that its parts came from. Text to be compiled does not, so that comments in a user's file
// change no kernel and never reach a compiler.
enum class Comments : std::uint8_t { kNone, kEquations };
// A comment line with the file, the line and the equation there; "" if the location is unknown.
std::string equation_comment(const Location& at, const std::string& indent, Comments comments);

// The names of a program's values in the graph. Inputs without a name are called x0, x1, …, instructions t0, t1, …
struct CodeNames {
  std::vector<std::string> inputs;
  std::vector<Origin> instructions;
};
CodeNames code_names(const KernelRequest& request);

// The part of a kernel's text that computes the results of elements.
class DeviceCode {
 public:
  // `inputs` broadcast to `result`, which are the sizes of every step; those in `rows` are read by row number.
  DeviceCode(const Sizes& result, std::span<const TensorView> inputs, TileSteps steps, const CodeNames& names = {},
             RowReads rows = {});

  // The beginning of the text: the type `Index`, in which elements are counted.
  std::string index_type() const;
  // Adds a member of that type.
  Argument add_index(ArgumentLayout& to, std::string name, std::int64_t value) const;
  // The first members of struct Arguments: the inputs' addresses, under their names; sizes, which have values already; draws.
  const ArgumentLayout& arguments() const { return arguments_; }
  Argument input_argument(std::size_t k) const { return inputs_[k]; }
  Argument draw_argument(std::size_t d) const { return draw_arguments_[d]; }
  // The address of the list, if inputs are read by row number.
  std::optional<Argument> list_argument() const { return list_; }
  const RowReads& row_reads() const { return rows_; }
  const std::vector<Draw>& draws() const { return steps_.draws; }
  // `Results<width>`, a struct of packs, and `compute<width>(const Arguments&, first)`, which returns the results of elements
  // first to first + width. If `width` is more than 1, these are in one row and their addresses are multiples of `width`
  // elements.
  std::string functions(Comments comments) const;
  // Names of members: an input's address or a draw in Arguments, a result in Results.
  const std::string& input_name(std::size_t k) const { return input_names_[k]; }
  const std::string& result_name(std::size_t r) const { return result_names_[r]; }
  // The name for the address of a result, for code that adds it to Arguments.
  const std::string& target_name(std::size_t r) const { return target_names_[r]; }
  // All names in use.
  const Identifiers& names() const { return names_; }
  static std::string draw_name(std::size_t d) { return "draw" + std::to_string(d); }
  // The C name of a result's type.
  std::string type_of_result(std::size_t r) const;
  std::string type_of_input(std::size_t k) const;
  DType dtype_of_result(std::size_t r) const;
  DType dtype_of_input(std::size_t k) const { return types_[k]; }
  std::size_t inputs() const { return types_.size(); }

  // Statements that set the sizes and strides in Arguments `own` to their values, as constants. The size of the first axis is
  // left out, because no text reads it.
  std::string constants() const;
  // By how many elements each operand advances from one position to the next along the axis of `view`, a view of sizes(). Empty
  // if that is not the same at all positions, or if there are draws.
  std::vector<std::int64_t> steps_along(const AxisView& view) const;

  const Sizes& sizes() const { return result_; }
  // Whether input k is read in packs, directly from its memory, and not element by element.
  bool reads_packs(std::size_t k) const;
  bool small() const { return small_; }  // elements are counted in 32 bits
  // The number of elements that a thread can process at once, judging by the sizes alone.
  int width() const { return axes_.inner() % 4 == 0 ? 4 : 1; }

 private:
  enum class Form : std::uint8_t { kWhole, kOne, kStrided };

  std::string operand_text(const TileStep& step, std::size_t k) const;
  std::string expression(std::size_t step) const;
  std::string instruction(std::size_t step) const;
  void find_names(const CodeNames& names);
  std::string places() const;  // computes the positions of strided operands' elements

  Sizes result_;
  TileSteps steps_;
  std::vector<DType> types_;  // by input
  RowReads rows_;
  TileAxes axes_;
  std::vector<Form> forms_;  // by input
  ArgumentLayout arguments_;
  std::vector<Argument> inputs_, draw_arguments_;
  std::optional<Argument> list_;
  Identifiers names_;
  std::vector<std::string> input_names_, step_names_, result_names_, target_names_;
  std::vector<std::string> pack_names_, place_names_;  // by input: names of its pack and of its position
  std::vector<Location> places_;                       // by step: location of its equation
  bool small_ = true;
};

// The kernel that writes all results, which have the same sizes.
struct ElementwiseText : DeviceText {
  ArgumentLayout arguments;
  std::vector<Argument> results;  // addresses
  Argument wide;                  // whether threads take four elements at once: std::int32_t
};
ElementwiseText elementwise_text(const DeviceCode& code, std::size_t results);
// The same text with comments.
std::string commented_elementwise_text(const DeviceCode& code, std::size_t results);

}  // namespace graphrun
