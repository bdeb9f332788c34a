# Nothing to train on.
: > train.conll
graphrun check tags.pbtxt
