# A word where a FLOAT field has numbers, behind one.
printf '0.5 1\n2 x3\n' > numbers.conll
graphrun data numbers.pbtxt
