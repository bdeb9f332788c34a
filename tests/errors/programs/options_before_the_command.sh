# The command comes first.
graphrun --threads 2 check tags.pbtxt
