# A word of the language.
graphrun help repeat
