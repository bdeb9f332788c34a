# A graph whose ending is left out on the command line.
cp tags.pbtxt mine.pbtxt
graphrun check mine
