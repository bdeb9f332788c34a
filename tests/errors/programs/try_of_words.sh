# A try of something else than a number.
graphrun train tags.pbtxt --try three
