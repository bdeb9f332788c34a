# Processes that a launcher started, where the plug-in is not.
OMPI_COMM_WORLD_SIZE=2 GRAPHRUN_MPI_LIBRARY=none.so graphrun train tags.pbtxt --out model
