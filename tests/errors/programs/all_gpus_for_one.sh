# A GPU for each process, where no library says how many GPUs there are.
GRAPHRUN_CUDA_LIBRARY=none.so graphrun train tags.pbtxt --out model --device cuda:all
