# CUDA where its library is not.
GRAPHRUN_CUDA_LIBRARY=none.so graphrun train tags.pbtxt --out model --device cuda:1
