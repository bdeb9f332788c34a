# A job where a graph is meant.
graphrun run tags.pbtxt
