# A byte that no text has.
printf 'the\tD\nca\000t\tN\n' > train.conll
graphrun check tags.pbtxt
