# A metric that is none.
printf 'a\n' > out
graphrun score out out --metric rouge
