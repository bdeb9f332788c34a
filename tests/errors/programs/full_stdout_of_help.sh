# What is printed at the end of a program sits in a buffer until then.
graphrun help > /dev/full
