# A folder of graphs.
graphrun help cells
