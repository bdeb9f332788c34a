# The reader goes away: quietly.
graphrun train tags.pbtxt --out model --quiet > /dev/null
yes 'the cat' | head -n 20000 | graphrun infer model | head -n 1 >&2
