# What is not there, as programs for statistics write it.
printf '0.5 1\n\nnan 1\n' > numbers.conll
graphrun data numbers.pbtxt
