# A try of nothing.
graphrun train tags.pbtxt --try 0
