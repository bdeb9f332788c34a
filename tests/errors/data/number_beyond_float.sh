# A number that float32 does not hold.
printf '0.5 1e39\n' > numbers.conll
graphrun train numbers.pbtxt --out model --quiet
