# --set of what cannot be read.
graphrun check tags.pbtxt --set "hidden=(3"
