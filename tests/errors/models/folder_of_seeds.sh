# The folder of several models where one is meant.
graphrun train tags.pbtxt --out runs --seeds 1,2 --quiet > /dev/null 2>&1
graphrun evaluate runs
