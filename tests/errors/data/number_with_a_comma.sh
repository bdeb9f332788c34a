# A decimal comma.
printf '0,5 1\n' > numbers.conll
graphrun data numbers.pbtxt
