# A token without a label.
printf 'the\tD\ncat\t\n' > train.conll
graphrun check tags.pbtxt
