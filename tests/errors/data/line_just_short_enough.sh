# A word of a million bytes is a word all the same.
{ head -c 1000000 /dev/zero | tr '\0' 'x'; printf '\tN\n'; } > train.conll
cp train.conll valid.conll
graphrun check tags.pbtxt --quiet
