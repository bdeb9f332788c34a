# A code that no message has.
graphrun help E9999
