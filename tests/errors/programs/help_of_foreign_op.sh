# What others call an operator.
graphrun help einsum
