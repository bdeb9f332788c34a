# The file of a score.
graphrun score a b --metric bleu
