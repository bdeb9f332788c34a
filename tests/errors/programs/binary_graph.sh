# A file that is no text.
head -c 300 /dev/zero | tr '\0' '\377' > graph.pbtxt
graphrun check graph.pbtxt
