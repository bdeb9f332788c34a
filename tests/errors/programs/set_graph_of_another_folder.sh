# The name of a graph without its folder.
graphrun check tags.pbtxt --set cell=elman.pbtxt
