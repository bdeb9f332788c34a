# A limit on the size of files, as a full disk: the path and the bytes.
ulimit -f 1
graphrun train tags.pbtxt --out model --quiet --set embed=300
