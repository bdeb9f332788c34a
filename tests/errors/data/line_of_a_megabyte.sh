# A line longer than any text has.
head -c 1100000 /dev/zero | tr '\0' 'x' > train.conll
graphrun check tags.pbtxt
