# A line with a column less than those before.
printf 'the\tD\ncat\n' > train.conll
graphrun check tags.pbtxt
