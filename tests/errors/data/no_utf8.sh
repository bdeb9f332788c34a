# Latin-1 where UTF-8 is expected.
printf 'the\tD\ncaf\351\tN\n' > train.conll
graphrun check tags.pbtxt
