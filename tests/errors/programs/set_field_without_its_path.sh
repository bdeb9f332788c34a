# The end of a field's path is no argument of the graph.
graphrun check tags.pbtxt --set learning_rate=1 --set hiden=3
