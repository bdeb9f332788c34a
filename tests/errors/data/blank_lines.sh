# Lines, but no example.
printf '\n\n \n' > train.conll
graphrun check tags.pbtxt
