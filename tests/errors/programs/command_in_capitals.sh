# A command in capitals.
graphrun Train tags.pbtxt
