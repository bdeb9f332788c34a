# A line with a column more than those before.
printf 'the\tD\ncat\tN\tx\n' > train.conll
graphrun check tags.pbtxt
