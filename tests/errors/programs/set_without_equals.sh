# --set without a value.
graphrun check tags.pbtxt --set hidden
