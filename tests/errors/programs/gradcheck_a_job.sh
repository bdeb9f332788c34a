# The same, with an argument that the shell would cut.
sed 's/hidden = 3/hidden = 2 * 3/' tags.pbtxt > job.pbtxt
graphrun gradcheck job.pbtxt
