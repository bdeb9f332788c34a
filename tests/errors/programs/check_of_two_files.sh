# One file too many.
graphrun check tags.pbtxt words.pbtxt
