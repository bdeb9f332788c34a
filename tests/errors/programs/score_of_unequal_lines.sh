# Fewer lines than references.
printf 'a\nb\n' > out
printf 'a\n' > ref
graphrun score out ref --metric bleu
