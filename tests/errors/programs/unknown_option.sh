# Options are not guessed.
graphrun train tags.pbtxt --ou model
