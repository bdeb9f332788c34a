# Threads are a number.
graphrun train tags.pbtxt --out model --threads many
