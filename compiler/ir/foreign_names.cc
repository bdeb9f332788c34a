#include "compiler/ir/foreign_names.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>

namespace graphrun::ir {
namespace {

struct Row {
  std::initializer_list<std::string_view> names;  // in lower case, without underscores
  std::string_view here;
};

constexpr std::string_view kCell = "a cell is a graph: import: \"cell = cells/gru.pbtxt\", then scan { … graph: \"cell\" … }";

const Row kOps[] = {
    {{"runningsum", "scan", "prefixsum", "cumulativesum"}, "a running sum is cumsum(x, axis=0)"},
    {{"detach", "stopgrad", "nograd", "blockgrad", "stopgradients", "constantof"}, "stop_gradient(x)"},
    {{"cumprod"}, "a running product is a state of a scan: state { name: \"all\" shape: … begin: \"1\" next: \"all * x\" }"},
    {{"cummax", "cummin"}, "a running maximum is a state of a scan: state { … next: \"maximum(most, x)\" }"},
    {{"einsum", "tensordot"}, "einsum is written with @, transpose and expand: sum(expand(a, axis=-1) * b, axis=0), for one"},
    {{"squeeze"}, "x[:, 0] takes away an axis of size 1, here axis 1; so does reshape(x, shape=[…])"},
    {{"unsqueeze", "expanddims", "newaxis"}, "expand(x, axis=0) adds an axis of size 1"},
    {{"view", "flatten", "ravel", "viewas", "reshapeas", "unflatten"}, "reshape(x, shape=[batch, 2 * hidden])"},
    {{"cat", "concatenate", "hstack", "vstack", "append"}, "concat(a, b, axis=-1)"},
    {{"mm", "bmm", "dot", "addmm", "mv", "vdot", "inner", "matvec"}, "a product of matrices is a @ b"},
    {{"linear", "dense", "fc", "affine", "feedforward"}, "x @ W + b, with parameters W and b"},
    {{"permute", "swapaxes", "movedim", "moveaxis", "t"}, "transpose(x, permutation=[1, 0, 2])"},
    {{"leakyrelu"}, "maximum(x, 0.01 * x)"},
    {{"prelu"}, "where(x > 0, x, a * x)"},
    {{"relu6"}, "minimum(relu(x), 6)"},
    {{"elu"}, "where(x > 0, x, exp(minimum(x, 0)) - 1)"},
    {{"selu"}, "1.0507 * where(x > 0, x, 1.67326 * (exp(minimum(x, 0)) - 1))"},
    {{"silu", "swish"}, "x * sigmoid(x)"},
    {{"mish"}, "x * tanh(softplus(x))"},
    {{"glu"}, "a, b = split(x, parts=2), then a * sigmoid(b)"},
    {{"hardtanh"}, "minimum(maximum(x, -1), 1)"},
    {{"hardsigmoid"}, "minimum(maximum(x / 6 + 0.5, 0), 1)"},
    {{"logsigmoid"}, "-softplus(-x)"},
    {{"softsign"}, "x / (1 + abs(x))"},
    {{"expit", "logistic", "sigm"}, "sigmoid(x)"},
    {{"lse", "reducelogsumexp", "logsum", "logadd"}, "logsumexp(x, axis=-1)"},
    {{"logaddexp"}, "logsumexp(stack(a, b), axis=0)"},
    {{"clamp", "clip", "clipbyvalue"}, "minimum(maximum(x, low), high)"},
    {{"select", "cond", "ifelse", "iif", "ternary", "switch"}, "where(condition, a, b)"},
    {{"maskedfill"}, "where(condition, value, x)"},
    {{"reducesum"}, "sum(x, axis=-1)"},
    {{"reducemean", "average", "avg"}, "mean(x, axis=-1)"},
    {{"reducemax", "amax"}, "max(x, axis=-1)"},
    {{"reducemin", "amin"}, "min(x, axis=-1)"},
    {{"prod", "product", "reduceprod"}, "a product of positive numbers is exp(sum(log(x), axis=-1))"},
    {{"var", "variance", "std", "stddev"}, "mean(square(x - mean(x, axis=-1, keep=true)), axis=-1), and its sqrt"},
    {{"norm", "l2norm"}, "sqrt(sum(square(x), axis=-1))"},
    {{"embedding", "embeddinglookup", "lookup", "take", "indexselect", "embed"}, "gather(E, words), rows of a parameter"},
    {{"takealongaxis", "gathernd", "takealongdim"}, "pick(x, i), one element of each row"},
    {{"tile", "repeat", "repeatinterleave", "broadcast", "expandas", "broadcastinto"}, "broadcast_to(x, shape=[…])"},
    {{"layernormalization"}, "layer_norm(x, gain, bias), or normalize(x)"},
    {{"rmsnorm"}, "gain * x * rsqrt(mean(square(x), axis=-1, keep=true) + 1e-6)"},
    {{"multiply", "hadamard", "times"}, "a * b"},
    {{"plus"}, "a + b"},
    {{"subtract", "minus"}, "a - b"},
    {{"divide", "truediv"}, "a / b"},
    {{"power", "exponent", "powf", "floatpower"}, "x ** n, or pow(x, n)"},
    {{"sqr"}, "square(x)"},
    {{"reciprocal", "inv"}, "1 / x"},
    {{"mod", "fmod", "remainder"}, "x - n * floor(x / n)"},
    {{"floordiv", "floordivide"}, "floor(x / n)"},
    {{"ceil"}, "-floor(-x)"},
    {{"round", "rint"}, "floor(x + 0.5)"},
    {{"isnan"}, "x != x"},
    {{"nllloss", "crossentropyloss", "softmaxcrossentropy", "nll", "sparsecategoricalcrossentropy", "xent"},
     "cross_entropy(logits, target)"},
    {{"bce", "binarycrossentropy", "bcewithlogits", "binarycrossentropywithlogits"}, "softplus(z) - y * z, of a logit z"},
    {{"mse", "mseloss", "squarederror"}, "mean(square(a - b))"},
    {{"l1loss", "mae"}, "mean(abs(a - b))"},
    {{"ones", "oneslike", "fill", "fulllike"}, "full(shape=[batch, hidden], value=1)"},
    {{"zeroslike"}, "zeros(shape=[batch, hidden])"},
    {{"arange", "linspace", "iota"}, "range(n=time)"},
    {{"randn", "rand", "random", "uniform", "normal", "bernoulli"},
     "a parameter begins at random, init { uniform: 0.1 }; dropout_mask draws at every step"},
    {{"size", "shape", "len", "dim"}, "a size is a number by its name: [batch, hidden] of an input makes `batch` one"},
    {{"astype", "to", "int", "float", "bool", "convert"}, "cast(x, type='FLOAT')"},
    {{"argsort", "sort", "top", "kthvalue"}, "values, indices = topk(x, k=10)"},
    {{"triu", "tril", "causalmask"}, "history(x) in a scan is all steps so far: nothing later needs a mask"},
    {{"eye", "identity"}, "one_hot(range(n=4), depth=4)"},
    {{"chunk", "unbind", "unstack", "tensorsplit"}, "a, b = split(x, parts=2, axis=-1)"},
    {{"flip", "reverse", "flipud"}, "scan { … reverse: true } runs from the last real step to the first"},
    {{"roll", "shift", "pack", "padsequence", "packpaddedsequence"},
     "a state that only waits shifts by a step; lengths= gives the real length of each sequence"},
    {{"rnn", "lstm", "gru", "lstmcell", "grucell", "rnncell", "birnn", "bilstm"}, kCell},
    {{"attention", "multiheadattention", "scaleddotproductattention"},
     "attention is a graph: import: \"attend = attention/additive.pbtxt\", then call { … graph: \"attend\" … }"},
    {{"crf", "viterbi"}, "a CRF is a graph: import: \"crf = crf.pbtxt\", then call { … graph: \"crf\" … }"},
    {{"dropout2d", "alphadropout"}, "dropout(x, rate=0.2)"},
};

const Row kValues[] = {
    {{"True"}, "write true"},
    {{"False"}, "write false"},
    {{"None", "null", "nil"}, "there is no value for absent; leave it out"},
    {{"inf", "Infinity", "infinity"}, "an infinite number has no name here; -1e30 in a softmax is as good"},
    {{"pi"}, "write 3.14159265358979"},
    {{"self"}, "parts of a graph are used by their names, without a prefix"},
};

const Row kAttributes[] = {
    {{"dim", "dims", "axes"}, "axis"},
    {{"keepdim", "keepdims", "keep_dims"}, "keep"},
    {{"p", "prob", "probability"}, "rate"},
    {{"perm", "order", "axes", "dims"}, "permutation"},
    {{"chunks", "sections", "num"}, "parts"},
    {{"dtype"}, "type"},
    {{"size", "sizes", "newshape"}, "shape"},
    {{"num_classes", "classes"}, "depth"},
    {{"eps"}, "epsilon"},
    {{"smoothing"}, "label_smoothing"},
};

template <std::size_t N>
std::string_view find(const Row (&rows)[N], std::string_view name) {
  for (const Row& row : rows) {
    if (std::find(row.names.begin(), row.names.end(), name) != row.names.end()) return row.here;
  }
  return "";
}

}  // namespace

std::string here_op_is(std::string_view foreign) {
  std::string plain;
  for (char c : foreign) {
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::string(find(kOps, plain));
}

std::string unknown_op_help(std::string_view name, bool guess, std::vector<std::string> others) {
  std::string help = here_op_is(name);
  if (help.empty() && guess) {
    for (const OpSchema* op : OpRegistry::instance().all())
      if (!op->internal) others.push_back(op->name);
    help = did_you_mean(std::string(name), others);
  }
  if (!help.empty()) help += help.ends_with('?') ? " " : "; ";
  return help + "`graphrun help ops` lists them";
}

std::string here_value_is(std::string_view foreign) { return std::string(find(kValues, foreign)); }

std::string_view here_attribute_is(const OpSchema& op, std::string_view foreign) {
  for (const Row& row : kAttributes) {
    if (std::find(row.names.begin(), row.names.end(), foreign) == row.names.end()) continue;
    if (op.attribute(std::string(row.here)) || op.input_index(std::string(row.here)) >= 0) return row.here;
  }
  return "";
}

}  // namespace graphrun::ir
